package adapters

import (
	"cmp"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/go-resty/resty/v2"
)

// RestyV2 makes a client of go-resty v2 retry after a 429 or 503, and wait as planned:
//
//	client := resty.New().SetRetryCount(3).SetRetryMaxWaitTime(10 * time.Minute)
//	RestyV2(client, retryafter.Options{})
//
// Set RetryMaxWaitTime to the longest wait that you accept. The client would shorten a
// longer wait to it, so RestyV2 returns a LimitError instead. The default of 2 s is
// shorter than most waits that servers ask for.
//
// A wait is at least the client's own backoff, also after a failed connection.
//
// What the caller of Request.Execute gets, beside the last response:
//
//	value cannot be used   *retryafter.FieldError, at once
//	wait exceeds a limit   *retryafter.LimitError, at once
//	context canceled       context.Canceled
//	last attempt refused   no error
func RestyV2(client *resty.Client, opts retryafter.Options) {
	client.AddRetryCondition(func(resp *resty.Response, err error) bool {
		return err != nil || resp.StatusCode() == http.StatusTooManyRequests ||
			resp.StatusCode() == http.StatusServiceUnavailable
	})
	client.SetRetryAfter(func(client *resty.Client, resp *resty.Response) (time.Duration, error) {
		opts := opts
		opts.Attempt = resp.Request.Attempt
		// The shortest backoff of the client is half of a time that doubles at each attempt.
		doubled := client.RetryWaitTime << min(resp.Request.Attempt-1, 16)
		own := max(client.RetryWaitTime, min(doubled, client.RetryMaxWaitTime)/2)
		opts.MinWait = max(1, opts.MinWait, own) // never 0: a missing Retry-After would be an error
		most := max(1, client.RetryMaxWaitTime)  // never 0, which would be no limit
		if end, ok := resp.Request.Context().Deadline(); ok {
			most = min(most, max(1, time.Until(end)))
		}
		opts.MaxWait = min(most, cmp.Or(opts.MaxWait, most))
		plan, err := retryafter.Plan(resp.Header(), opts)
		return plan.Wait, err
	})
}
