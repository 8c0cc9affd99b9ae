package adapters

import (
	"errors"
	"net/http"

	"example.com/retryafter"
)

// A Transport rewrites Retry-After for a client that retries by itself: it puts
// the wait of the plan there as whole seconds. Nothing else in the client changes:
//
//	client.Transport = Transport{Base: http.DefaultTransport}
//
// It works with every client that reads Retry-After as a number of seconds, among
// them go-retryablehttp, failsafehttp, resty v3, azcore, openai-go,
// anthropic-sdk-go and slack-go.
//
// # What to know
//
//   - The wait is rounded up to a whole second, so the jitter is too: clients that
//     were refused together return on the whole seconds of the window. After 30 s
//     these are 9 instants in 8 s (TestClients counts them). An adapter for one
//     client, such as those in the other files, uses every instant of the window.
//   - azcore, openai-go and anthropic-sdk-go read Retry-After-Ms first, and azcore
//     X-Ms-Retry-After-Ms too. Transport does not change these fields.
//   - failsafehttp has no delay of its own, so it retries at once where the field
//     was deleted. Set WithDelay or WithBackoff on its policy.
//   - Do not put another adapter of this package above it, and do not wrap a
//     transport twice: the age of the response would be subtracted twice.
//
// # What the caller of the client gets
//
//	a value that cannot be read   the field is deleted, and the client waits its own backoff
//	a *retryafter.LimitError      no error: the client gets the whole wait, and its own
//	                              maximum decides (azcore and openai-go return the 429)
//	a context that is canceled    what the client returns alone, in most clients ctx.Err()
//	a deadline before the retry   what the client returns alone: most sleep until the deadline
type Transport struct {
	Base    http.RoundTripper  // sends the requests; it must be set
	Options retryafter.Options // the same for each response
}

// RoundTrip sends the request with Base and rewrites Retry-After in the response.
// It returns an error only if Base does or if Options are invalid.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Base.RoundTrip(req)
	if err != nil || len(resp.Header["Retry-After"]) == 0 {
		return resp, err
	}
	plan, err := retryafter.Plan(resp.Header, t.Options)
	var limit *retryafter.LimitError
	switch {
	case errors.As(err, &limit):
		plan = limit.Plan // the client's own maximum can refuse it
	case errors.Is(err, retryafter.ErrInvalidOptions):
		resp.Body.Close()
		return nil, err
	case err != nil:
		resp.Header.Del("Retry-After") // cannot be read: the client's own backoff applies
		return resp, nil
	}
	wait := retryafter.Instruction{Source: retryafter.DelaySeconds, Delay: plan.Wait}
	resp.Header.Set("Retry-After", wait.String()) // whole seconds, rounded up
	return resp, nil
}
