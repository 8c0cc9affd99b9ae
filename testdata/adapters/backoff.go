package adapters

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/cenkalti/backoff/v5"
)

// BackoffV5 returns an operation for Retry of cenkalti/backoff v5. The operation calls
// send and plans the wait after a 429 or 503:
//
//	operation := BackoffV5(ctx, send, retryafter.Options{})
//	resp, err := backoff.Retry(ctx, operation, backoff.WithMaxElapsedTime(0))
//
// Make a new operation for each call of Retry, with the context that send uses. Retry
// gets any other response, and any error of send, unchanged.
//
// A wait is at least the exponential backoff of the client. The operation has its own
// ExponentialBackOff, because Retry resets that of the client at each RetryAfterError.
//
// WithMaxElapsedTime(0) turns off a limit of 15 minutes, after which Retry returns a
// RetryAfterError and no LimitError. Use the context or MaxWait to limit the time.
//
// What the caller of Retry gets:
//
//	value cannot be used   *retryafter.FieldError, at once
//	wait exceeds a limit   *retryafter.LimitError, at once
//	context canceled       context.Cause(ctx)
//	last attempt refused   *backoff.RetryAfterError, in an error that has the status
func BackoffV5(
	ctx context.Context, send func() (*http.Response, error), opts retryafter.Options,
) backoff.Operation[*http.Response] {
	own := backoff.NewExponentialBackOff()
	return func() (*http.Response, error) {
		resp, err := send()
		if err != nil || resp.StatusCode != http.StatusTooManyRequests &&
			resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		resp.Body.Close()

		opts.Attempt++
		opts := opts
		opts.MinWait = max(opts.MinWait, own.NextBackOff())
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // never 0, which would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, err := retryafter.Plan(resp.Header, opts)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		return nil, fmt.Errorf("%s: %w", resp.Status, &backoff.RetryAfterError{Duration: plan.Wait})
	}
}
