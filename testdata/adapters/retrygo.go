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

// RetryGo calls send with DoWithData of avast/retry-go v4, and waits as planned after a
// 429 or 503:
//
//	resp, err := RetryGo(ctx, send, retryafter.Options{}, retry.Attempts(5))
//
// It returns any other response, and retries any error of send as the client does alone.
//
// A wait is at least the client's default backoff, which the options Delay and MaxJitter
// set. Do not set MaxDelay, which can make a wait shorter than the floor. Context and
// DelayType have no effect, because RetryGo sets them: use ctx or MaxWait to limit the
// time.
//
// What the caller gets, in a retry.Error that also has the status of each refused attempt:
//
//	value cannot be used   *retryafter.FieldError, at once
//	wait exceeds a limit   *retryafter.LimitError, at once
//	context canceled       context.Cause(ctx)
//	last attempt refused   no other error
//
// For retry-go v5, replace *retry.Config by retry.DelayContext, and
// retry.DoWithData(operation, options...) by
// retry.NewWithData[*http.Response](options...).Do(operation).
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

	// A delay function cannot return an error. But retry-go returns the cause of this
	// context if it is done when the wait begins.
	waiting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	backoff := retry.CombineDelay(retry.BackOffDelay, retry.RandomDelay) // retry-go's default
	delay := func(n uint, err error, config *retry.Config) time.Duration {
		own := backoff(n, err, config)
		var refusal *retryGoRefusal
		if !errors.As(err, &refusal) {
			return own
		}
		opts := opts
		opts.Attempt = int(n)
		opts.MinWait = max(opts.MinWait, own)
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // never 0, which would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, err := retryafter.Plan(refusal.resp.Header, opts)
		if err != nil {
			stop(err)
			return time.Hour // not waited, because the context is done
		}
		return plan.Wait
	}

	options = append(options, retry.Context(waiting), retry.DelayType(delay))
	return retry.DoWithData(operation, options...)
}

// A retryGoRefusal is the error of a 429 or 503.
type retryGoRefusal struct{ resp *http.Response }

func (e *retryGoRefusal) Error() string { return e.resp.Status }
