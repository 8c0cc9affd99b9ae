package adapters

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/avast/retry-go/v4"
)

// RetryGo calls send by DoWithData of avast/retry-go v4 and waits by plan after a 429
// or 503:
//
//	resp, err := RetryGo(ctx, send, retryafter.Options{}, retry.Attempts(5))
//
// Any other response is returned, and any error of send is retried as the client does
// alone. A wait is at least the client's backoff, which options set (Delay, MaxJitter).
// Do not set MaxDelay, which makes a wait shorter than the floor, nor DelayType or
// Context, which RetryGo sets: limit the time by ctx or by MaxWait.
//
// For retry-go v5, write retry.DelayContext for *retry.Config, and
// retry.NewWithData[*http.Response](options...).Do(operation) for DoWithData.
//
// What the caller gets, in a retry.Error that holds the refusals too:
//
//	a value that cannot be read   the *retryafter.FieldError, at once
//	a wait beyond a limit         the *retryafter.LimitError, at once
//	a canceled context            context.Cause(ctx)
//	a refusal of the last try     the statuses of all tries
//
// With retry.LastErrorOnly(true) it is the error itself.
func RetryGo(
	ctx context.Context, send func() (*http.Response, error), opts retryafter.Options,
	options ...retry.Option,
) (*http.Response, error) {
	operation := func() (*http.Response, error) {
		resp, err := send()
		if err != nil || resp.StatusCode != http.StatusTooManyRequests &&
			resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		resp.Body.Close()
		return nil, &retryGoRefusal{resp}
	}

	// A delay function cannot return an error. But while the client waits, it returns
	// the cause of this context as soon as the context ends.
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	delay := func(n uint, err error, config *retry.Config) time.Duration {
		own := retry.BackOffDelay(n, err, config) + retry.RandomDelay(n, err, config)
		var refusal *retryGoRefusal
		if !errors.As(err, &refusal) {
			return own
		}
		opts := opts
		opts.MinWait = max(opts.MinWait, own)
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // a MaxWait of 0 would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, err := retryafter.Plan(refusal.resp.Header, opts)
		if err != nil {
			stop(err)
			return time.Hour // not waited
		}
		return plan.Wait
	}

	options = append(options, retry.Context(waiting), retry.DelayType(delay))
	return retry.DoWithData(operation, options...)
}

// A retryGoRefusal is the error of a 429 or 503.
type retryGoRefusal struct{ resp *http.Response }

func (e *retryGoRefusal) Error() string { return e.resp.Status }
