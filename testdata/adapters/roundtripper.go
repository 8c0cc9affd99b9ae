package adapters

import (
	"net/http"

	"example.com/retryafter"
)

// A Transport replaces Retry-After by the planned wait, for a client that retries by
// itself. Only the transport of the client changes:
//
//	client.Transport = Transport{Base: http.DefaultTransport}
//
// It works with every client that reads Retry-After as a number of seconds:
//
//	azcore             ClientOptions.Transport, a *http.Client with this transport
//	openai-go          option.WithHTTPClient
//	anthropic-sdk-go   option.WithHTTPClient
//	slack-go           OptionHTTPClient, and OptionRetry, or it does not retry
//	resty v3           SetTransport(Transport{client.Transport()}), SetRetryCount and
//	                   AddRetryConditions(RetryConditionStatusTooManyRequests), or it
//	                   does not retry; it reads the field of a 429 or 503 only
//	go-retryablehttp   HTTPClient.Transport; or use retryablehttp.go
//	failsafehttp       the base of its RoundTripper; or use failsafe.go
//
// What to know:
//
//   - The wait is rounded up to whole seconds, so clients refused together return in
//     groups: after "Retry-After: 30" at 8 instants, after "Retry-After: 1" all at 2 s
//     (slack-go adds jitter of its own). For more instants, set Jitter.Spread in the
//     Options of RoundTrip. The adapters in the other files do not round.
//   - Set no MaxWait in these Options. If a wait exceeded it, the field would be deleted,
//     and the client would retry too early. Set the maximum of the client instead.
//   - azcore, openai-go and anthropic-sdk-go prefer Retry-After-Ms, and azcore also
//     X-Ms-Retry-After-Ms. Transport does not change these fields.
//   - failsafehttp does not wait if the field was deleted, unless its policy has
//     WithDelay or WithBackoff. It does not close the bodies of the responses that it
//     retries; OnRetryScheduled can do that, as in failsafe.go.
//   - Use Transport once, and no other adapter with it: each would subtract the age of
//     the response.
//
// What the caller of the client gets:
//
//	value cannot be used    the field is deleted, and the client waits its own backoff
//	long wait               the field has the whole wait; the client's own maximum applies
//	context canceled        what the client returns alone: context.Canceled
//	deadline too early      what the client returns alone: most wait until the deadline
type Transport struct{ Base http.RoundTripper }

// RoundTrip sends the request with Base and replaces Retry-After in the response.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.Base.RoundTrip(req)
	if err != nil || resp.Header["Retry-After"] == nil {
		return resp, err
	}
	plan, err := retryafter.Plan(resp.Header, retryafter.Options{})
	if err != nil {
		resp.Header.Del("Retry-After")
		return resp, nil
	}
	wait := retryafter.Instruction{Source: retryafter.DelaySeconds, Delay: plan.Wait}
	resp.Header.Set("Retry-After", wait.String())
	return resp, nil
}
