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

// Failsafe returns a transport that retries by the HTTP policy of failsafe-go, at most
// twice, and waits by plan after a 429 or 503:
//
//	client := &http.Client{Transport: Failsafe(http.DefaultTransport, retryafter.Options{})}
//
// failsafe-go has no delay of its own unless the policy sets one. Here it is a second,
// which grows only where there is no plan, such as after a failed connection.
//
// If you change the policy, do not add WithJitter, which makes a wait shorter than the
// floor, or WithMaxDuration, which cuts it: use Options.
//
// What the caller of http.Client.Do gets, in a *url.Error:
//
//	a value that cannot be read   the *retryafter.FieldError, at once
//	a wait beyond a limit         the *retryafter.LimitError, at once
//	a canceled context            context.Canceled
//
// A refusal of the last try is returned as it is, without an error.
func Failsafe(base http.RoundTripper, opts retryafter.Options) http.RoundTripper {
	opts.MinWait = cmp.Or(opts.MinWait, time.Second)
	policy := failsafehttp.NewRetryPolicyBuilder().
		WithBackoff(time.Second, time.Minute).
		AbortOnErrorTypes(&retryafter.FieldError{}, &retryafter.LimitError{}).
		WithDelayFunc(func(exec failsafe.ExecutionAttempt[*http.Response]) time.Duration {
			resp := exec.LastResult()
			if resp == nil {
				return -1 // the delay of WithBackoff
			}
			plan, ok := resp.Request.Context().Value(failsafePlan{}).(retryafter.RetryPlan)
			if !ok {
				return -1
			}
			return plan.Wait
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

// failsafePlan is the key of the plan in the context of a response's request.
type failsafePlan struct{}

// A failsafePlanner plans the wait after a 429 or 503. It is below the policy, because
// only here can an error take the place of the response.
type failsafePlanner struct {
	base http.RoundTripper
	opts retryafter.Options
}

func (p failsafePlanner) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.base.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusTooManyRequests &&
		resp.StatusCode != http.StatusServiceUnavailable {
		return resp, err
	}
	ctx := req.Context()
	if end, ok := ctx.Deadline(); ok {
		left := max(1, time.Until(end)) // a MaxWait of 0 would be no limit
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
