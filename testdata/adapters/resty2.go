package adapters

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/go-resty/resty/v2"
)

// RestyV2 has a client of go-resty v2 retry after a 429 or 503, and wait by plan:
//
//	client := resty.New().SetRetryCount(3).SetRetryMaxWaitTime(10 * time.Minute)
//	RestyV2(client, retryafter.Options{})
//
// Set RetryMaxWaitTime to the longest wait that you accept. The client makes every
// longer wait as short as that, so RestyV2 refuses it instead. The default is 2 seconds,
// which refuses nearly every wait that a server asks for.
//
// A wait is at least the client's own backoff. The client asks for a wait after a failed
// connection too, and waits its backoff with jitter.
//
// What the caller of Request.Execute gets, with the last response:
//
//	a value that cannot be read   the *retryafter.FieldError, at once
//	a wait beyond a limit         the *retryafter.LimitError, at once
//	a canceled context            context.Canceled
//
// A refusal of the last try is returned as it is, without an error.
func RestyV2(client *resty.Client, opts retryafter.Options) {
	client.AddRetryCondition(func(resp *resty.Response, err error) bool {
		return err != nil || resp.StatusCode() == http.StatusTooManyRequests ||
			resp.StatusCode() == http.StatusServiceUnavailable
	})
	client.SetRetryAfter(func(client *resty.Client, resp *resty.Response) (time.Duration, error) {
		opts := opts
		most := max(1, client.RetryMaxWaitTime) // a MaxWait of 0 would be no limit
		if end, ok := resp.Request.Context().Deadline(); ok {
			most = min(most, max(1, time.Until(end)))
		}
		opts.MaxWait = min(most, cmp.Or(opts.MaxWait, most))

		// The least of the client's own backoff, which doubles up to its maximum.
		own := min(client.RetryWaitTime<<min(resp.Request.Attempt-1, 16), client.RetryMaxWaitTime) / 2
		opts.MinWait = max(opts.MinWait, client.RetryWaitTime, own)

		plan, err := retryafter.Plan(resp.Header(), opts)
		if errors.Is(err, retryafter.ErrNoRetryAfter) {
			return 0, nil // the client's own backoff
		}
		return plan.Wait, err
	})
}
