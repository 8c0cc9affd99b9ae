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

// BackoffV5 returns an operation for Retry of cenkalti/backoff v5. It sends a request
// and, after a 429 or 503, plans the wait:
//
//	operation := BackoffV5(ctx, send, retryafter.Options{})
//	resp, err := backoff.Retry(ctx, operation, backoff.WithMaxTries(5),
//		backoff.WithMaxElapsedTime(0))
//
// Make a new operation for each call of Retry, with the context that send uses. Any
// other response, and any error of send, goes to Retry as it is.
//
// A wait is at least the client's exponential backoff. The operation keeps one of its
// own, because Retry starts its policy again at each RetryAfterError.
//
// Set WithMaxElapsedTime(0) and limit the time by the context or by MaxWait. The limit
// of Retry, 15 minutes by default, ends it with a RetryAfterError and no LimitError.
//
// What the caller of Retry gets:
//
//	a value that cannot be read   the *retryafter.FieldError, at once
//	a wait beyond a limit         the *retryafter.LimitError, at once
//	a canceled context            context.Cause(ctx)
//	a refusal of the last try     the status and a *backoff.RetryAfterError
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

		opts := opts
		opts.MinWait = max(opts.MinWait, own.NextBackOff())
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // a MaxWait of 0 would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, err := retryafter.Plan(resp.Header, opts)
		if err != nil {
			return nil, backoff.Permanent(err)
		}
		return nil, fmt.Errorf("%s: %w", resp.Status, &backoff.RetryAfterError{Duration: plan.Wait})
	}
}
