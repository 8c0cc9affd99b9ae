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

// RetryableHTTP has a client of hashicorp/go-retryablehttp wait by plan. Call it
// once, after the client's CheckRetry, Backoff and RetryWaitMin are set:
//
//	client := retryablehttp.NewClient()
//	RetryableHTTP(client, retryafter.Options{MaxWait: 10 * time.Minute})
//
// The client's own CheckRetry still decides what is retried, and RetryMax how
// often. A wait is at least the client's own Backoff, which is called without the
// response so that it does not read Retry-After. RetryWaitMax limits that backoff
// alone: set MaxWait for a limit of the whole wait.
//
// CheckRetry does not know which attempt it is. So it compares RetryWaitMin with the
// deadline of the context; if the client's own backoff has grown beyond what is left,
// the client sleeps until the deadline, as it does alone.
//
// # What the caller of Client.Do gets
//
//	a value that cannot be read   *retryafter.FieldError, wrapped in "giving up after 1 attempt(s)"
//	a wait beyond a limit         *retryafter.LimitError, wrapped in the same way
//	a context that is canceled    context.Canceled
//
// If the client has an ErrorHandler, it gets these errors and the response, and it
// has to close the body.
func RetryableHTTP(client *retryablehttp.Client, opts retryafter.Options) {
	check, backoff := client.CheckRetry, client.Backoff

	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		retry, checkErr := check(ctx, resp, err)
		if !retry || err != nil {
			return retry, checkErr
		}
		opts := opts
		opts.MinWait = max(opts.MinWait, client.RetryWaitMin)
		if end, ok := ctx.Deadline(); ok {
			left := max(1, time.Until(end)) // a MaxWait of 0 would be no limit
			opts.MaxWait = min(left, cmp.Or(opts.MaxWait, left))
		}
		plan, err := retryafter.Plan(resp.Header, opts)
		if err != nil {
			return false, err
		}
		resp.Body = plannedBody{resp.Body, plan}
		return true, nil
	}

	client.Backoff = func(least, most time.Duration, attempt int, resp *http.Response) time.Duration {
		own := backoff(least, most, attempt, nil)
		if resp == nil {
			return own
		}
		planned, _ := resp.Body.(plannedBody)
		return max(planned.plan.Wait, own+planned.plan.Jitter)
	}
}

// A plannedBody carries the plan of a response from CheckRetry to Backoff, which
// get the same response one after the other.
type plannedBody struct {
	io.ReadCloser
	plan retryafter.RetryPlan
}
