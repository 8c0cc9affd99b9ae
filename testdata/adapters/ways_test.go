package adapters

import (
	"context"
	"errors"
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
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	restyv2 "github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"
	"github.com/slack-go/slack"
	restyv3 "resty.dev/v3"
)

const day = 24 * time.Hour

// A call sends one request, retries it as the client does, and closes the body of the
// response. It returns the status of the response, or 0 if the client returns none.
type call func(ctx context.Context, url string) (int, error)

// A setup is what each way gets.
type setup struct {
	base    http.RoundTripper
	opts    retryafter.Options // for an adapter
	maximum time.Duration      // of a wait, if the client has one; 0: the client's default
}

// A way is one way to use a client: alone or with an adapter.
type way struct {
	client string
	module string // for the version of the client
	with   string
	start  func(setup) call

	// own is the least backoff of the client, before the first retry and before the
	// second.
	own [2]time.Duration

	// row is what TestClients expects in its columns. Waits are in seconds.
	row [7]string
}

func (w way) String() string { return w.client + " " + w.with }

// finish closes the body of a response and returns its status and err.
func finish(resp *http.Response, err error) (int, error) {
	if resp == nil {
		return 0, err
	}
	resp.Body.Close()
	return resp.StatusCode, err
}

// get returns a function that sends one GET request without retries.
func get(ctx context.Context, base http.RoundTripper, url string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		return (&http.Client{Transport: base}).Do(req)
	}
}

// seconds reads Retry-After as the example in the documentation of cenkalti/backoff does.
func seconds(resp *http.Response) (time.Duration, bool) {
	n, err := strconv.ParseInt(resp.Header.Get("Retry-After"), 10, 64)
	return time.Duration(n) * time.Second, err == nil
}

// go-retryablehttp has its defaults. RetryWaitMax does not limit Retry-After.
func useRetryableHTTP(base http.RoundTripper, change func(*retryablehttp.Client)) call {
	client := retryablehttp.NewClient()
	client.Logger = nil
	client.HTTPClient = &http.Client{Transport: base}
	change(client)
	return func(ctx context.Context, url string) (int, error) {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		return finish(client.Do(req))
	}
}

// backoff v5 tries five times (unlimited by default) and for any time (15 minutes by
// default). Alone it is used as in the example of its documentation, which reads seconds.
func useBackoffV5(
	operation func(ctx context.Context, url string) backoffv5.Operation[*http.Response],
) call {
	return func(ctx context.Context, url string) (int, error) {
		return finish(backoffv5.Retry(ctx, operation(ctx, url),
			backoffv5.WithMaxTries(5), backoffv5.WithMaxElapsedTime(0)))
	}
}

func backoffV5Alone(s setup) call {
	return useBackoffV5(func(ctx context.Context, url string) backoffv5.Operation[*http.Response] {
		send := get(ctx, s.base, url)
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
}

// backoff v7 is used as backoff v5 is.
func useBackoffV7(
	operation func(ctx context.Context, url string) backoffv7.Operation[*http.Response],
) call {
	return func(ctx context.Context, url string) (int, error) {
		return finish(backoffv7.Retry(ctx, operation(ctx, url),
			backoffv7.WithMaxTries(5), backoffv7.WithMaxElapsedTime(0)))
	}
}

func backoffV7Alone(s setup) call {
	return useBackoffV7(func(ctx context.Context, url string) backoffv7.Operation[*http.Response] {
		send := get(ctx, s.base, url)
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
}

// failsafe-go is the transport of a client of net/http. Alone its policy has the
// defaults, so there is no delay except Retry-After.
func useFailsafe(transport http.RoundTripper) call {
	return func(ctx context.Context, url string) (int, error) {
		return finish(get(ctx, transport, url)())
	}
}

// failsafePolicy is a policy as the comment on Transport advises.
func failsafePolicy() failsafe.Policy[*http.Response] {
	return failsafehttp.NewRetryPolicyBuilder().
		WithBackoff(time.Second, time.Minute).
		OnRetryScheduled(func(event failsafe.ExecutionScheduledEvent[*http.Response]) {
			if resp := event.LastResult(); resp != nil {
				resp.Body.Close()
			}
		}).
		Build()
}

// retry-go has its defaults. Alone it has, as in its example of a delay that depends on
// the error, a DelayType that reads Retry-After, here in both forms.
func retryGoAlone(s setup) call {
	delay := func(n uint, err error, config *retry.Config) time.Duration {
		var refusal *retryGoRefusal
		if errors.As(err, &refusal) {
			if wait, ok := seconds(refusal.resp); ok {
				return wait
			}
			date, err := http.ParseTime(refusal.resp.Header.Get("Retry-After"))
			if err == nil {
				return time.Until(date)
			}
		}
		return retry.BackOffDelay(n, err, config)
	}
	return func(ctx context.Context, url string) (int, error) {
		send := get(ctx, s.base, url)
		return finish(retry.DoWithData(func() (*http.Response, error) {
			resp, err := send()
			if err == nil && resp.StatusCode == http.StatusTooManyRequests {
				resp.Body.Close()
				return nil, &retryGoRefusal{resp}
			}
			return resp, err
		}, retry.Context(ctx), retry.DelayType(delay)))
	}
}

// resty v2 retries three times (never by default) after a 429. Alone it does not read
// Retry-After, unless the caller writes a function for SetRetryAfter.
func useRestyV2(s setup, change func(*restyv2.Client)) call {
	client := restyv2.New().SetTransport(s.base).SetRetryCount(3).SetLogger(silent{})
	if s.maximum > 0 {
		client.SetRetryMaxWaitTime(s.maximum) // 2 s by default
	}
	change(client)
	return func(ctx context.Context, url string) (int, error) {
		resp, err := client.R().SetContext(ctx).Get(url)
		if resp == nil {
			return 0, err
		}
		return resp.StatusCode(), err
	}
}

// A silent logger drops what resty logs about each refusal.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}

// resty v3 retries three times (never by default) after a 429. RetryMaxWaitTime does
// not limit Retry-After.
func useRestyV3(base http.RoundTripper) call {
	client := restyv3.New().SetTransport(base).SetRetryCount(3).
		AddRetryConditions(restyv3.RetryConditionStatusTooManyRequests)
	return func(ctx context.Context, url string) (int, error) {
		resp, err := client.R().SetContext(ctx).Get(url)
		if resp == nil || resp.RawResponse == nil {
			return 0, err
		}
		return finish(resp.RawResponse, err)
	}
}

// azcore has its defaults, except for the maximum (60 s by default).
func useAzcore(base http.RoundTripper, maximum time.Duration) call {
	options := &policy.ClientOptions{
		Transport: &http.Client{Transport: base},
		Retry:     policy.RetryOptions{MaxRetryDelay: maximum},
	}
	pipeline := runtime.NewPipeline("test", "v1.0.0", runtime.PipelineOptions{}, options)
	return func(ctx context.Context, url string) (int, error) {
		req, err := runtime.NewRequest(ctx, http.MethodGet, url)
		if err != nil {
			return 0, err
		}
		resp, err := pipeline.Do(req)
		if err == nil && resp.StatusCode != http.StatusOK {
			err = runtime.NewResponseError(resp) // as the clients of services do
		}
		return finish(resp, err)
	}
}

// openai-go has its defaults, except for the maximum (2 minutes by default). The service
// is a small one, because the package openai takes a minute to compile.
func useOpenAI(base http.RoundTripper, maximum time.Duration) call {
	options := []openaioption.RequestOption{
		openaioption.WithAPIKey("key"),
		openaioption.WithHTTPClient(&http.Client{Transport: base}),
	}
	if maximum > 0 {
		options = append(options, openaioption.WithMaxRetryDelay(maximum))
	}
	service := webhooks.NewEventTypeService(options...)
	return func(ctx context.Context, url string) (int, error) {
		var resp *http.Response
		_, err := service.List(ctx, openaioption.WithBaseURL(url), openaioption.WithResponseInto(&resp))
		return finish(resp, err)
	}
}

// anthropic-sdk-go has its defaults. It has no maximum.
func useAnthropic(base http.RoundTripper) call {
	client := anthropic.NewClient(anthropicoption.WithAPIKey("key"),
		anthropicoption.WithHTTPClient(&http.Client{Transport: base}))
	return func(ctx context.Context, url string) (int, error) {
		var resp *http.Response
		err := client.Get(ctx, "v1/models", nil, &resp, anthropicoption.WithBaseURL(url))
		return finish(resp, err)
	}
}

// slack-go retries three times (never by default). It has no maximum.
func useSlack(base http.RoundTripper) call {
	return func(ctx context.Context, url string) (int, error) {
		client := slack.New("token", slack.OptionAPIURL(url),
			slack.OptionHTTPClient(&http.Client{Transport: base}), slack.OptionRetry(3))
		_, err := client.AuthTestContext(ctx)
		return 0, err
	}
}

const (
	retryablehttpModule = "github.com/hashicorp/go-retryablehttp"
	failsafeModule      = "github.com/failsafe-go/failsafe-go"
	azcoreModule        = "github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// planned is the row of each adapter but Transport.
var planned = [...]string{
	"30-37.5", "30-37.5", "30-37.5", "10-12.5", "at once", "at once", "250-300",
}

var ways = []way{
	{
		client: "go-retryablehttp", module: retryablehttpModule, with: "alone",
		start: func(s setup) call { return useRetryableHTTP(s.base, func(*retryablehttp.Client) {}) },
		row:   [...]string{"29.5", "0", "3629.5", "30", "0.29-0.3", "at 5 s", "1"},
	}, {
		client: "go-retryablehttp", module: retryablehttpModule, with: "RetryableHTTP",
		start: func(s setup) call {
			return useRetryableHTTP(s.base, func(c *retryablehttp.Client) { RetryableHTTP(c, s.opts) })
		},
		own: [...]time.Duration{time.Second, 2 * time.Second},
		row: planned,
	}, {
		client: "go-retryablehttp", module: retryablehttpModule, with: "Transport",
		start: func(s setup) call {
			return useRetryableHTTP(Transport{s.base}, func(*retryablehttp.Client) {})
		},
		own: [...]time.Duration{time.Second, 2 * time.Second},
		row: [...]string{"31-38", "31-38", "31-38", "11-13", "1", "at 5 s", "8"},
	}, {
		client: "backoff", module: "github.com/cenkalti/backoff/v5", with: "alone",
		start: backoffV5Alone,
		row:   [...]string{"0.25-0.75", "0.25-0.75", "0.25-0.75", "30", "0.29-0.3", "at 5 s", "1"},
	}, {
		client: "backoff", module: "github.com/cenkalti/backoff/v5", with: "BackoffV5",
		start: func(s setup) call {
			return useBackoffV5(func(ctx context.Context, url string) backoffv5.Operation[*http.Response] {
				return BackoffV5(ctx, get(ctx, s.base, url), s.opts)
			})
		},
		own: [...]time.Duration{250 * time.Millisecond, 375 * time.Millisecond},
		row: planned,
	}, {
		client: "backoff", module: "github.com/cenkalti/backoff/v7", with: "alone",
		start: backoffV7Alone,
		row:   [...]string{"0.25-0.75", "0.25-0.75", "0.25-0.75", "30", "0.29-0.3", "at 5 s", "1"},
	}, {
		client: "backoff", module: "github.com/cenkalti/backoff/v7", with: "BackoffV7",
		start: func(s setup) call {
			return useBackoffV7(func(ctx context.Context, url string) backoffv7.Operation[*http.Response] {
				return BackoffV7(ctx, get(ctx, s.base, url), s.opts)
			})
		},
		own: [...]time.Duration{250 * time.Millisecond, 375 * time.Millisecond},
		row: planned,
	}, {
		client: "failsafe-go", module: failsafeModule, with: "alone",
		start: func(s setup) call {
			policy := failsafehttp.NewRetryPolicyBuilder().Build()
			return useFailsafe(failsafehttp.NewRoundTripper(s.base, policy))
		},
		row: [...]string{"0", "0", "0", "30", "0.29-0.3", "at 5 s", "1"},
	}, {
		client: "failsafe-go", module: failsafeModule, with: "Failsafe",
		start: func(s setup) call { return useFailsafe(Failsafe(s.base, s.opts)) },
		own:   [...]time.Duration{time.Second, 2 * time.Second},
		row:   planned,
	}, {
		client: "failsafe-go", module: failsafeModule, with: "Transport",
		start: func(s setup) call {
			return useFailsafe(failsafehttp.NewRoundTripper(Transport{s.base}, failsafePolicy()))
		},
		own: [...]time.Duration{time.Second, 2 * time.Second},
		row: [...]string{"31-38", "31-38", "31-38", "11-13", "1", "at 5 s", "8"},
	}, {
		client: "retry-go", module: "github.com/avast/retry-go/v4", with: "alone",
		start: retryGoAlone,
		row:   [...]string{"29.5", "0", "3629.5", "30", "0.29-0.3", "at 5 s", "1"},
	}, {
		client: "retry-go", module: "github.com/avast/retry-go/v4", with: "RetryGo",
		start: func(s setup) call {
			return func(ctx context.Context, url string) (int, error) {
				return finish(RetryGo(ctx, get(ctx, s.base, url), s.opts))
			}
		},
		own: [...]time.Duration{100 * time.Millisecond, 200 * time.Millisecond},
		row: planned,
	}, {
		client: "resty", module: "github.com/go-resty/resty/v2", with: "alone",
		start: func(s setup) call {
			return useRestyV2(s, func(client *restyv2.Client) {
				client.AddRetryCondition(func(resp *restyv2.Response, err error) bool {
					return err != nil || resp.StatusCode() == http.StatusTooManyRequests
				})
			})
		},
		row: [...]string{"0.1", "0.1", "0.1", "0.1", "0.1", "0.1", "1"},
	}, {
		client: "resty", module: "github.com/go-resty/resty/v2", with: "RestyV2",
		start: func(s setup) call {
			return useRestyV2(s, func(client *restyv2.Client) { RestyV2(client, s.opts) })
		},
		own: [...]time.Duration{100 * time.Millisecond, 100 * time.Millisecond},
		row: planned,
	}, {
		client: "resty", module: "resty.dev/v3", with: "alone",
		start: func(s setup) call { return useRestyV3(s.base) },
		row:   [...]string{"29.5", "0-0.01", "3629.5", "30", "> 1 day", "at 5 s", "1"},
	}, {
		client: "resty", module: "resty.dev/v3", with: "Transport",
		start: func(s setup) call { return useRestyV3(Transport{s.base}) },
		own:   [...]time.Duration{100 * time.Millisecond, 100 * time.Millisecond},
		row:   [...]string{"31-38", "31-38", "31-38", "11-13", "0.1-0.2", "at 5 s", "8"},
	}, {
		client: "azcore", module: azcoreModule, with: "alone",
		start: func(s setup) call { return useAzcore(s.base, s.maximum) },
		row:   [...]string{"29.5", "0.64-1.04", "3629.5", "30", "0.29-0.3", "at once", "1"},
	}, {
		client: "azcore", module: azcoreModule, with: "Transport",
		start: func(s setup) call { return useAzcore(Transport{s.base}, s.maximum) },
		own:   [...]time.Duration{640 * time.Millisecond, 1920 * time.Millisecond},
		row:   [...]string{"31-38", "31-38", "31-38", "11-13", "0.64-1.04", "at once", "8"},
	}, {
		client: "openai-go", module: "github.com/openai/openai-go/v3", with: "alone",
		start: func(s setup) call { return useOpenAI(s.base, s.maximum) },
		row:   [...]string{"29.5", "0", "3629.5", "30", "at once", "at once", "1"},
	}, {
		client: "openai-go", module: "github.com/openai/openai-go/v3", with: "Transport",
		start: func(s setup) call { return useOpenAI(Transport{s.base}, s.maximum) },
		own:   [...]time.Duration{375 * time.Millisecond, 750 * time.Millisecond},
		row:   [...]string{"31-38", "31-38", "31-38", "11-13", "0.375-0.5", "at once", "8"},
	}, {
		client: "anthropic-sdk-go", module: "github.com/anthropics/anthropic-sdk-go", with: "alone",
		start: func(s setup) call { return useAnthropic(s.base) },
		row:   [...]string{"29.5", "0", "3629.5", "30", "0", "at 5 s", "1"},
	}, {
		client: "anthropic-sdk-go", module: "github.com/anthropics/anthropic-sdk-go", with: "Transport",
		start: func(s setup) call { return useAnthropic(Transport{s.base}) },
		own:   [...]time.Duration{375 * time.Millisecond, 750 * time.Millisecond},
		row:   [...]string{"31-38", "31-38", "31-38", "11-13", "0.375-0.5", "at 5 s", "8"},
	}, {
		client: "slack-go", module: "github.com/slack-go/slack", with: "alone",
		start: func(s setup) call { return useSlack(s.base) },
		row:   [...]string{"60-61", "60-61", "60-61", "30-31", "1-2", "at 5 s", "200-300"},
	}, {
		client: "slack-go", module: "github.com/slack-go/slack", with: "Transport",
		start: func(s setup) call { return useSlack(Transport{s.base}) },
		own:   [...]time.Duration{60 * time.Second, 60 * time.Second},
		row:   [...]string{"31-39", "31-39", "31-39", "11-14", "60-61", "at 5 s", "250-300"},
	},
}

// withAdapter returns the ways that are not alone.
func withAdapter() []way {
	var with []way
	for _, w := range ways {
		if w.with != "alone" {
			with = append(with, w)
		}
	}
	return with
}
