package adapters

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"time"

	"example.com/retryafter"
	"github.com/hashicorp/go-retryablehttp"
)

// RetryableHTTP makes a client of hashicorp/go-retryablehttp wait as planned. Call it
// once, after CheckRetry, Backoff and RetryWaitMin of the client are set:
//
//	client := retryablehttp.NewClient()
//	RetryableHTTP(client, retryafter.Options{MaxWait: 10 * time.Minute})
//
// Do not change CheckRetry or Backoff afterwards, and do not use the Transport of
// roundtripper.go with it: the client would retry too early.
//
// The client's CheckRetry still decides what is retried, and RetryMax how often.
//
// A wait is at least the client's own Backoff, which RetryWaitMax limits. MaxWait limits
// the server's wait.
//
// CheckRetry does not get the number of the attempt. So a Jitter.Key has the same place
// in all attempts, and CheckRetry compares only RetryWaitMin and the server's wait with the
// deadline of the context. If the client's own backoff has grown beyond the deadline, the
// client waits until the deadline, as it does alone.
//
// What the caller of Client.Do gets:
//
//	value cannot be used   *retryafter.FieldError in "giving up after 1 attempt(s)", at once
//	wait exceeds a limit   *retryafter.LimitError in the same way, at once
//	context canceled       context.Canceled
//	last attempt refused   "giving up after 5 attempt(s)"
//
// If the client has an ErrorHandler, the handler gets these errors and has to close the
// body.
func RetryableHTTP(client *retryablehttp.Client, opts retryafter.Options) {
	check, backoff := client.CheckRetry, client.Backoff

	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		retry, err := check(ctx, resp, err)
		if !retry || resp == nil {
			return retry, err
		}
		opts := opts
		opts.MinWait = max(1, opts.MinWait, client.RetryWaitMin) // never 0: a missing Retry-After would be an error
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // never 0, which would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, planErr := retryafter.Plan(resp.Header, opts)
		if planErr != nil {
			return false, planErr
		}
		resp.Body = plannedBody{resp.Body, plan}
		return true, err
	}

	client.Backoff = func(low, high time.Duration, n int, resp *http.Response) time.Duration {
		own := backoff(low, high, n, nil) // nil: without Retry-After
		if resp == nil {
			return own
		}
		planned, _ := resp.Body.(plannedBody)
		return max(planned.plan.Wait, own+planned.plan.Jitter)
	}
}

// A plannedBody carries the plan of a response from CheckRetry to Backoff.
type plannedBody struct {
	io.ReadCloser
	plan retryafter.RetryPlan
}
