package adapters

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"example.com/retryafter"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/avast/retry-go/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	backoffv7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	restyv2 "github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/slack-go/slack"
	restyv3 "resty.dev/v3"
)

// day is the maximum that the tests set where a client has one, so that a wait of
// an hour shows.
const day = 24 * time.Hour

// A call sends one request, retries it as the client does, and closes the body of
// the last response.
type call func(ctx context.Context, url string) error

// A way is one way to use a client.
type way struct {
	client string // as in the table
	module string // for its version
	with   string // "alone", the adapter, or "Transport"
	start  func(http.RoundTripper, retryafter.Options) call
}

// retryablehttpCall uses hashicorp/go-retryablehttp with its defaults. RetryWaitMax
// does not limit Retry-After, so it is not raised.
func retryablehttpCall(rt http.RoundTripper, prepare func(*retryablehttp.Client)) call {
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.HTTPClient = &http.Client{Transport: rt}
	prepare(client)
	return func(ctx context.Context, url string) error {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		return closed(client.Do(req))
	}
}

// closed closes the body of a response and returns its error.
func closed(resp *http.Response, err error) error {
	if resp != nil {
		resp.Body.Close()
	}
	return err
}

// get returns what sends one GET request without retries.
func get(ctx context.Context, rt http.RoundTripper, url string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		return (&http.Client{Transport: rt}).Do(req)
	}
}

// httpCall uses a client of net/http, whose transport retries.
func httpCall(rt http.RoundTripper) call {
	return func(ctx context.Context, url string) error { return closed(get(ctx, rt, url)()) }
}

// backoffV5Call uses cenkalti/backoff v5 with its defaults, but for the maximum of
// 15 minutes, which is lifted.
func backoffV5Call(operation func(context.Context, string) backoffv5.Operation[*http.Response]) call {
	return func(ctx context.Context, url string) error {
		return closed(backoffv5.Retry(ctx, operation(ctx, url), backoffv5.WithMaxElapsedTime(0)))
	}
}

// backoffV7Call uses cenkalti/backoff v7 in the same way.
func backoffV7Call(operation func(context.Context, string) backoffv7.Operation[*http.Response]) call {
	return func(ctx context.Context, url string) error {
		return closed(backoffv7.Retry(ctx, operation(ctx, url), backoffv7.WithMaxElapsedTime(0)))
	}
}

// seconds reads Retry-After as the documentation of cenkalti/backoff does.
func seconds(resp *http.Response) (time.Duration, bool) {
	n, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64)
	return time.Duration(n) * time.Second, err == nil
}

// retryGoAlone uses avast/retry-go with its defaults and, as in its example of a delay
// that depends on the error, a DelayType that reads both forms of Retry-After.
func retryGoAlone(rt http.RoundTripper, _ retryafter.Options) call {
	return func(ctx context.Context, url string) error {
		delay := func(n uint, err error, config *retry.Config) time.Duration {
			var refusal *retryGoRefusal
			if errors.As(err, &refusal) {
				if wait, ok := seconds(refusal.resp); ok {
					return wait
				}
				if date, err := http.ParseTime(refusal.resp.Header.Get("Retry-After")); err == nil {
					return time.Until(date)
				}
			}
			return retry.BackOffDelay(n, err, config)
		}
		send := get(ctx, rt, url)
		return closed(retry.DoWithData(func() (*http.Response, error) {
			resp, err := send()
			if err == nil && resp.StatusCode == http.StatusTooManyRequests {
				return nil, errors.Join(&retryGoRefusal{resp}, resp.Body.Close())
			}
			return resp, err
		}, retry.Context(ctx), retry.DelayType(delay)))
	}
}

// restyV2Call uses go-resty v2 with three retries, which are off by default, after
// a 429. Its RetryMaxWaitTime is raised from 2 seconds.
func restyV2Call(rt http.RoundTripper, prepare func(*restyv2.Client)) call {
	client := restyv2.New().SetTransport(rt).SetRetryCount(3).SetRetryMaxWaitTime(day).
		SetLogger(silent{})
	prepare(client)
	return func(ctx context.Context, url string) error {
		_, err := client.R().SetContext(ctx).Get(url)
		return err
	}
}

// A silent logger keeps the refusals of resty out of the output of the tests.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// restyV3Call uses resty v3 with three retries, which are off by default, after a 429.
// RetryMaxWaitTime does not limit Retry-After, so it is not raised.
func restyV3Call(rt http.RoundTripper) call {
	client := restyv3.New().SetTransport(rt).SetRetryCount(3).
		AddRetryConditions(restyv3.RetryConditionStatusTooManyRequests)
	return func(ctx context.Context, url string) error {
		_, err := client.R().SetContext(ctx).Get(url)
		return err
	}
}

// azcoreCall uses azcore with its defaults, but for this MaxRetryDelay (60 seconds
// by default).
func azcoreCall(rt http.RoundTripper, maximum time.Duration) call {
	pipeline := runtime.NewPipeline("test", "v1.0.0", runtime.PipelineOptions{}, &policy.ClientOptions{
		Transport: &http.Client{Transport: rt},
		Retry:     policy.RetryOptions{MaxRetryDelay: maximum},
	})
	return func(ctx context.Context, url string) error {
		req, err := runtime.NewRequest(ctx, http.MethodGet, url)
		if err != nil {
			return err
		}
		resp, err := pipeline.Do(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = runtime.NewResponseError(resp) // as the services' clients do
		}
		return closed(resp, err)
	}
}

// openaiCall uses openai-go with its defaults, but for this maximum of a wait (one
// minute by default).
func openaiCall(rt http.RoundTripper, maximum time.Duration) call {
	client := openai.NewClient(openaioption.WithAPIKey("key"),
		openaioption.WithHTTPClient(&http.Client{Transport: rt}),
		openaioption.WithMaxRetryDelay(maximum))
	return func(ctx context.Context, url string) error {
		var resp *http.Response
		err := client.Get(ctx, "models", nil, &resp, openaioption.WithBaseURL(url))
		return closed(resp, err)
	}
}

// anthropicCall uses anthropic-sdk-go with its defaults. It has no maximum of a wait.
func anthropicCall(rt http.RoundTripper) call {
	client := anthropic.NewClient(anthropicoption.WithAPIKey("key"),
		anthropicoption.WithHTTPClient(&http.Client{Transport: rt}))
	return func(ctx context.Context, url string) error {
		var resp *http.Response
		err := client.Get(ctx, "v1/models", nil, &resp, anthropicoption.WithBaseURL(url))
		return closed(resp, err)
	}
}

// slackCall uses slack-go with three retries, which are off by default. It has no
// maximum of a wait.
func slackCall(rt http.RoundTripper) call {
	return func(ctx context.Context, url string) error {
		client := slack.New("token", slack.OptionAPIURL(url),
			slack.OptionHTTPClient(&http.Client{Transport: rt}), slack.OptionRetry(3))
		_, err := client.AuthTestContext(ctx)
		return err
	}
}

var ways = []way{
	{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call {
			return retryablehttpCall(rt, func(*retryablehttp.Client) {})
		}},
	{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", "RetryableHTTP",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return retryablehttpCall(rt, func(c *retryablehttp.Client) { RetryableHTTP(c, opts) })
		}},
	{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return retryablehttpCall(Transport{rt, opts}, func(*retryablehttp.Client) {})
		}},

	// Alone as in the example of its documentation, which reads the field as seconds.
	{"backoff", "github.com/cenkalti/backoff/v5", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call {
			return backoffV5Call(func(ctx context.Context, url string) backoffv5.Operation[*http.Response] {
				send := get(ctx, rt, url)
				return func() (*http.Response, error) {
					resp, err := send()
					if err != nil || resp.StatusCode != http.StatusTooManyRequests {
						return resp, err
					}
					resp.Body.Close()
					if wait, ok := seconds(resp); ok {
						return nil, &backoffv5.RetryAfterError{Duration: wait}
					}
					return nil, errors.New(resp.Status)
				}
			})
		}},
	{"backoff", "github.com/cenkalti/backoff/v5", "BackoffV5",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return backoffV5Call(func(ctx context.Context, url string) backoffv5.Operation[*http.Response] {
				return BackoffV5(ctx, get(ctx, rt, url), opts)
			})
		}},
	{"backoff", "github.com/cenkalti/backoff/v7", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call {
			return backoffV7Call(func(ctx context.Context, url string) backoffv7.Operation[*http.Response] {
				send := get(ctx, rt, url)
				return func() (*http.Response, error) {
					resp, err := send()
					if err != nil || resp.StatusCode != http.StatusTooManyRequests {
						return resp, err
					}
					resp.Body.Close()
					if wait, ok := seconds(resp); ok {
						return nil, backoffv7.RetryAfter(wait, errors.New(resp.Status))
					}
					return nil, errors.New(resp.Status)
				}
			})
		}},
	{"backoff", "github.com/cenkalti/backoff/v7", "BackoffV7",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return backoffV7Call(func(ctx context.Context, url string) backoffv7.Operation[*http.Response] {
				return BackoffV7(ctx, get(ctx, rt, url), opts)
			})
		}},

	// Alone with the policy of failsafehttp and its defaults: no delay of its own.
	{"failsafe-go", "github.com/failsafe-go/failsafe-go", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call {
			policy := failsafehttp.NewRetryPolicyBuilder().Build()
			return httpCall(failsafehttp.NewRoundTripper(rt, policy))
		}},
	{"failsafe-go", "github.com/failsafe-go/failsafe-go", "Failsafe",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return httpCall(Failsafe(rt, opts))
		}},
	{"failsafe-go", "github.com/failsafe-go/failsafe-go", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			policy := failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, time.Minute).Build()
			return httpCall(failsafehttp.NewRoundTripper(Transport{rt, opts}, policy))
		}},

	{"retry-go", "github.com/avast/retry-go/v4", "alone", retryGoAlone},
	{"retry-go", "github.com/avast/retry-go/v4", "RetryGo",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return func(ctx context.Context, url string) error {
				return closed(RetryGo(ctx, get(ctx, rt, url), opts))
			}
		}},

	{"resty", "github.com/go-resty/resty/v2", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call {
			return restyV2Call(rt, func(client *restyv2.Client) {
				client.AddRetryCondition(func(resp *restyv2.Response, err error) bool {
					return err != nil || resp.StatusCode() == http.StatusTooManyRequests
				})
			})
		}},
	{"resty", "github.com/go-resty/resty/v2", "RestyV2",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return restyV2Call(rt, func(client *restyv2.Client) { RestyV2(client, opts) })
		}},
	{"resty", "resty.dev/v3", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call { return restyV3Call(rt) }},
	{"resty", "resty.dev/v3", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return restyV3Call(Transport{rt, opts})
		}},

	{"azcore", "github.com/Azure/azure-sdk-for-go/sdk/azcore", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call { return azcoreCall(rt, day) }},
	{"azcore", "github.com/Azure/azure-sdk-for-go/sdk/azcore", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return azcoreCall(Transport{rt, opts}, day)
		}},
	{"openai-go", "github.com/openai/openai-go/v3", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call { return openaiCall(rt, day) }},
	{"openai-go", "github.com/openai/openai-go/v3", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return openaiCall(Transport{rt, opts}, day)
		}},
	{"anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call { return anthropicCall(rt) }},
	{"anthropic-sdk-go", "github.com/anthropics/anthropic-sdk-go", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return anthropicCall(Transport{rt, opts})
		}},
	{"slack-go", "github.com/slack-go/slack", "alone",
		func(rt http.RoundTripper, _ retryafter.Options) call { return slackCall(rt) }},
	{"slack-go", "github.com/slack-go/slack", "Transport",
		func(rt http.RoundTripper, opts retryafter.Options) call {
			return slackCall(Transport{rt, opts})
		}},
}

var _ = io.EOF
