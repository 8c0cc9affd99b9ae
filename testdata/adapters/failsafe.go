package adapters

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
)

// Failsafe returns a transport that retries with the HTTP policy of failsafe-go, at most
// twice, and waits as planned after a 429 or 503:
//
//	client := &http.Client{Transport: Failsafe(http.DefaultTransport, retryafter.Options{})}
//
// The policy of failsafe-go has no backoff of its own. Here a wait is at least 1 s before
// the first retry and 2 s before the second, also after a failed connection.
//
// If you change the policy, do not add WithJitter or WithMaxDuration, which can make a
// wait shorter than the floor. Use Options instead. A Jitter.Key has the same place in
// all attempts, because the transport does not get the number of the attempt.
//
// What the caller of http.Client.Do gets, in a *url.Error:
//
//	value cannot be used   *retryafter.FieldError, at once
//	wait exceeds a limit   *retryafter.LimitError, at once
//	context canceled       context.Canceled
//	last attempt refused   no error, but the response
func Failsafe(base http.RoundTripper, opts retryafter.Options) http.RoundTripper {
	opts.MinWait = max(time.Second, opts.MinWait)
	policy := failsafehttp.NewRetryPolicyBuilder().
		AbortOnErrors(retryafter.ErrInvalidOptions).
		AbortOnErrorTypes(&retryafter.FieldError{}, &retryafter.LimitError{}).
		WithDelayFunc(func(exec failsafe.ExecutionAttempt[*http.Response]) time.Duration {
			own := time.Second << min(exec.Retries(), 5)
			if exec.LastResult() == nil {
				return own
			}
			ctx := exec.LastResult().Request.Context()
			plan, _ := ctx.Value(failsafePlan{}).(retryafter.RetryPlan)
			return max(plan.Wait, own+plan.Jitter)
		}).
		OnRetryScheduled(func(event failsafe.ExecutionScheduledEvent[*http.Response]) {
			if resp := event.LastResult(); resp != nil {
				resp.Body.Close() // failsafe-go does not
			}
		}).
		ReturnLastFailure().
		Build()
	return failsafehttp.NewRoundTripper(failsafePlanner{base, opts}, policy)
}

// A failsafePlanner plans the wait after a 429 or 503. It is below the policy, because
// the policy cannot turn a response into an error.
type failsafePlanner struct {
	base http.RoundTripper
	opts retryafter.Options
}

// failsafePlan is the key of the plan in the context of a response's request.
type failsafePlan struct{}

func (p failsafePlanner) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests &&
		resp.StatusCode != http.StatusServiceUnavailable {
		return resp, err
	}
	ctx := req.Context()
	if end, ok := ctx.Deadline(); ok {
		left := max(1, time.Until(end)) // never 0, which would be no limit
		p.opts.MaxWait = min(left, cmp.Or(p.opts.MaxWait, left))
	}
	plan, err := retryafter.Plan(resp.Header, p.opts)
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	resp.Request = req.WithContext(context.WithValue(ctx, failsafePlan{}, plan))
	return resp, nil
}
