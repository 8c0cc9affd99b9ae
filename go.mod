module example.com/retryafter

go 1.25.0
