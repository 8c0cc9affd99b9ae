package adapters

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/retryafter"
	"github.com/avast/retry-go/v4"
	backoffv5 "github.com/cenkalti/backoff/v5"
	backoffv7 "github.com/cenkalti/backoff/v7"
	restyv2 "github.com/go-resty/resty/v2"
	"github.com/hashicorp/go-retryablehttp"
)

// inBubble runs a subtest with a server, in which time passes only while all wait. The
// subtest fails also if a goroutine is left or a body is not closed.
func inBubble(t *testing.T, name string, s *server, test func(t *testing.T, s *server)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			test(t, s)
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.open != 0 {
				t.Errorf("%d bodies are not closed", s.open)
			}
		})
	})
}

// noJitter makes each wait as short as the adapter may make it.
var noJitter = retryafter.Jitter{Rand: func() float64 { return 0 }}

// No wait is shorter than the floor, or than the client's own backoff. A value that
// cannot be used never leads to an early retry.
func TestWaits(t *testing.T) {
	for _, refusal := range []struct {
		name     string
		header   func(time.Time) http.Header
		floor    time.Duration
		readable bool
	}{
		{"0 seconds", fields("0"), 0, true},
		{"1 second", fields("1"), time.Second, true},
		{"an hour", fields("3600"), time.Hour, true},
		{"date, client's clock right", dateIn30s(0), 30 * time.Second, true},
		{"date, client's clock an hour ahead", dateIn30s(-time.Hour), 30 * time.Second, true},
		{"date, client's clock an hour behind", dateIn30s(time.Hour), 30 * time.Second, true},
		{"30 seconds from a cache", aged, 10 * time.Second, true},
		{"18446744074 seconds", fields("18446744074"), 0, false},
		{"two values", fields("120", "60"), 0, false},
		{"two values in one line", fields("120, 60"), 0, false},
		{"negative", fields("-1"), 0, false},
		{"date without Date", noDate, 0, false},
	} {
		for _, w := range withAdapter() {
			s := refusing(2, refusal.header)
			inBubble(t, refusal.name+"/"+w.String(), s, func(t *testing.T, s *server) {
				time.Sleep(500 * time.Millisecond) // so that dates are rounded down
				call := w.start(setup{base: s, opts: retryafter.Options{Jitter: noJitter}, maximum: day})
				for _, r := range s.doAll(t.Context(), call, 10) {
					if !refusal.readable && w.with != "Transport" {
						checkStopped[*retryafter.FieldError](t, r)
						continue
					}
					if r.err != nil || len(r.waits) != 2 {
						t.Fatalf("%d requests and error %v, want 3 and none", 1+len(r.waits), r.err)
					}
					for i, wait := range r.waits {
						least := max(refusal.floor, w.own[i])
						if refusal.readable && w.with == "Transport" {
							least = refusal.floor // the client does not add its backoff
						}
						if wait < least {
							t.Errorf("wait %d is %v, want at least %v", i+1, wait, least)
						}
					}
				}
			})
		}
	}
}

// Where the server asks for no wait, the client's own backoff applies.
func TestOwnBackoff(t *testing.T) {
	for _, w := range withAdapter() {
		for _, test := range []struct {
			name   string
			broken bool
		}{
			{"no Retry-After", false},
			{"failed connection", true},
		} {
			if test.broken && w.with == "Transport" {
				continue // Transport does nothing there
			}
			s := refusing(2, noField)
			s.broken = test.broken
			inBubble(t, test.name+"/"+w.String(), s, func(t *testing.T, s *server) {
				call := w.start(setup{base: s, opts: retryafter.Options{Jitter: noJitter}, maximum: day})
				for _, r := range s.doAll(t.Context(), call, 10) {
					if r.err != nil || len(r.waits) != 2 {
						t.Fatalf("%d requests and error %v, want 3 and none", 1+len(r.waits), r.err)
					}
					for i, wait := range r.waits {
						if wait < w.own[i] || wait > 10*w.own[i] {
							t.Errorf("wait %d is %v, want %v or a little more", i+1, wait, w.own[i])
						}
					}
				}
			})
		}
	}
}

// checkStopped fails the test if the call did not end at once, after one request, with
// an error of type E.
func checkStopped[E error](t *testing.T, r result) {
	t.Helper()
	var want E
	if len(r.waits) != 0 || r.took != 0 || !errors.As(r.err, &want) {
		t.Errorf("%d requests in %v and error %v, want one, at once, and %T",
			1+len(r.waits), r.took, r.err, want)
	}
}

// The caller of each adapter gets what the comment of the adapter says.
func TestCallers(t *testing.T) {
	errStop := errors.New("stop")
	anyError := func(error) bool { return true }
	for _, adapter := range []struct {
		with     string
		stopped  func(error) bool // what else is true of the error after a value or a limit
		canceled error
		last     func(result) bool // after the last attempt was refused
	}{
		{
			with: "RetryableHTTP",
			stopped: func(err error) bool {
				return strings.Contains(err.Error(), "giving up after 1 attempt(s)")
			},
			canceled: context.Canceled,
			last: func(r result) bool {
				return r.status == 0 && strings.HasSuffix(r.err.Error(), "giving up after 5 attempt(s)")
			},
		}, {
			with:     "BackoffV5",
			stopped:  anyError,
			canceled: errStop,
			last: func(r result) bool {
				var after *backoffv5.RetryAfterError
				return errors.As(r.err, &after) && strings.Contains(r.err.Error(), "429 Too Many Requests")
			},
		}, {
			with: "BackoffV7",
			stopped: func(err error) bool {
				return backoffv7.AsRetryError(err) != nil && errors.Is(err, backoffv7.ErrPermanent)
			},
			canceled: errStop,
			last: func(r result) bool {
				return backoffv7.AsRetryError(r.err) != nil && errors.Is(r.err, backoffv7.ErrExhausted) &&
					strings.Contains(r.err.Error(), "429 Too Many Requests")
			},
		}, {
			with: "Failsafe",
			stopped: func(err error) bool {
				var urlErr *url.Error
				return errors.As(err, &urlErr)
			},
			canceled: context.Canceled,
			last: func(r result) bool {
				return r.status == http.StatusTooManyRequests && r.err == nil
			},
		}, {
			with: "RetryGo",
			stopped: func(err error) bool {
				var all retry.Error
				return errors.As(err, &all) && strings.Contains(err.Error(), "429 Too Many Requests")
			},
			canceled: errStop,
			last: func(r result) bool {
				return strings.Count(r.err.Error(), "429 Too Many Requests") == 1+len(r.waits)
			},
		}, {
			with:     "RestyV2",
			stopped:  anyError,
			canceled: context.Canceled,
			last: func(r result) bool {
				return r.status == http.StatusTooManyRequests && r.err == nil
			},
		},
	} {
		var start func(setup) call
		for _, w := range ways {
			if w.with == adapter.with {
				start = w.start
			}
		}
		do := func(ctx context.Context, s *server, opts retryafter.Options) result {
			return s.do(ctx, start(setup{s, opts, day}), inMemory, 0)
		}
		subtest := func(name, retryAfter string, test func(*testing.T, *server)) {
			inBubble(t, adapter.with+"/"+name, refusing(100, fields(retryAfter)), test)
		}

		subtest("value cannot be used", "soon", func(t *testing.T, s *server) {
			r := do(t.Context(), s, retryafter.Options{})
			checkStopped[*retryafter.FieldError](t, r)
			if !adapter.stopped(r.err) {
				t.Errorf("got %v", r.err)
			}
		})
		subtest("wait exceeds MaxWait", "3600", func(t *testing.T, s *server) {
			r := do(t.Context(), s, retryafter.Options{MaxWait: time.Minute})
			checkStopped[*retryafter.LimitError](t, r)
			if !adapter.stopped(r.err) {
				t.Errorf("got %v", r.err)
			}
		})
		subtest("wait exceeds the context", "3600", func(t *testing.T, s *server) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			r := do(ctx, s, retryafter.Options{MaxWait: day})
			checkStopped[*retryafter.LimitError](t, r)
			if !adapter.stopped(r.err) {
				t.Errorf("got %v", r.err)
			}
		})
		subtest("wait fits in MaxWait and the context", "3600", func(t *testing.T, s *server) {
			s.refusals = 1
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
			defer cancel()
			r := do(ctx, s, retryafter.Options{MaxWait: 61 * time.Minute})
			if r.err != nil || len(r.waits) != 1 || r.waits[0] < time.Hour || r.waits[0] > 61*time.Minute {
				t.Errorf("waits %v and error %v, want 1h to 1h1m and no error", r.waits, r.err)
			}
		})
		subtest("context canceled", "3600", func(t *testing.T, s *server) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer time.AfterFunc(10*time.Second, func() { cancel(errStop) }).Stop()
			r := do(ctx, s, retryafter.Options{})
			if !errors.Is(r.err, adapter.canceled) || r.took != 10*time.Second || len(r.waits) != 0 {
				t.Errorf("%d requests in %v and error %v, want one, 10s and %v",
					1+len(r.waits), r.took, r.err, adapter.canceled)
			}
		})
		subtest("last attempt refused", "1", func(t *testing.T, s *server) {
			r := do(t.Context(), s, retryafter.Options{})
			if len(r.waits) == 0 || !adapter.last(r) {
				t.Errorf("%d requests, status %d and error %v", 1+len(r.waits), r.status, r.err)
			}
		})
		subtest("invalid options", "1", func(t *testing.T, s *server) {
			r := do(t.Context(), s, retryafter.Options{MaxWait: -1})
			if len(r.waits) != 0 || r.took != 0 || !errors.Is(r.err, retryafter.ErrInvalidOptions) {
				t.Errorf("%d requests in %v and error %v, want one, at once, and ErrInvalidOptions",
					1+len(r.waits), r.took, r.err)
			}
		})
	}
}

// The caller of a client with Transport gets what the comment of Transport says.
func TestTransportCallers(t *testing.T) {
	for _, w := range ways {
		if w.with != "Transport" {
			continue
		}
		subtest := func(name string, test func(*testing.T, *server)) {
			inBubble(t, w.client+"/"+name, refusing(1, fields("7200")), test)
		}

		subtest("long wait", func(t *testing.T, s *server) {
			r := s.do(t.Context(), w.start(setup{base: s, maximum: day}), inMemory, 0)
			if r.err != nil || len(r.waits) != 1 || r.waits[0] < 2*time.Hour {
				t.Errorf("waits %v and error %v, want two hours and no error", r.waits, r.err)
			}
		})
		subtest("long wait, default maximum", func(t *testing.T, s *server) {
			r := s.do(t.Context(), w.start(setup{base: s}), inMemory, 0)
			if w.client == "azcore" || w.client == "openai-go" {
				if r.status != http.StatusTooManyRequests || r.err == nil || r.took != 0 {
					t.Errorf("status %d and error %v in %v, want 429 and an error, at once",
						r.status, r.err, r.took)
				}
			} else if r.err != nil || len(r.waits) != 1 || r.waits[0] < 2*time.Hour {
				t.Errorf("waits %v and error %v, want two hours and no error", r.waits, r.err)
			}
		})
		subtest("context canceled", func(t *testing.T, s *server) {
			ctx, cancel := context.WithCancel(t.Context())
			defer time.AfterFunc(10*time.Second, cancel).Stop()
			r := s.do(ctx, w.start(setup{base: s, maximum: day}), inMemory, 0)
			if !errors.Is(r.err, context.Canceled) || r.took != 10*time.Second {
				t.Errorf("error %v after %v, want context.Canceled after 10s", r.err, r.took)
			}
		})
	}
}

// An adapter that gets the number of the attempt passes it on: a Jitter.Key then has
// another place in each attempt.
func TestAttempts(t *testing.T) {
	for _, w := range ways {
		if !slices.Contains([]string{"BackoffV5", "BackoffV7", "RetryGo", "RestyV2"}, w.with) {
			continue
		}
		inBubble(t, w.String(), refusing(2, fields("30")), func(t *testing.T, s *server) {
			opts := retryafter.Options{Jitter: retryafter.Jitter{Key: "client-7"}}
			r := s.do(t.Context(), w.start(setup{base: s, opts: opts, maximum: day}), inMemory, 0)
			if r.err != nil || len(r.waits) != 2 || r.waits[0] == r.waits[1] {
				t.Errorf("waits %v and error %v, want two different waits and no error", r.waits, r.err)
			}
		})
	}
}

// After a wait of a second, rounding leaves a single instant.
func TestTransportRounds(t *testing.T) {
	inBubble(t, "1 second", refusing(1, fields("1")), func(t *testing.T, s *server) {
		call := useRetryableHTTP(Transport{s}, func(*retryablehttp.Client) {})
		for _, r := range s.doAll(t.Context(), call, 300) {
			if len(r.waits) != 1 || r.waits[0] != 2*time.Second {
				t.Errorf("waits %v, want 2s", r.waits)
			}
		}
	})
}

// go-retryablehttp has functions that the caller can set.
func TestRetryableHTTPFunctions(t *testing.T) {
	do := func(ctx context.Context, s *server, change func(*retryablehttp.Client)) result {
		call := useRetryableHTTP(s, func(client *retryablehttp.Client) {
			change(client)
			RetryableHTTP(client, retryafter.Options{})
		})
		return s.do(ctx, call, inMemory, 0)
	}

	inBubble(t, "backoff of zero", refusing(1, noField), func(t *testing.T, s *server) {
		r := do(t.Context(), s, func(client *retryablehttp.Client) {
			client.RetryWaitMin, client.RetryWaitMax = 0, 0
		})
		if r.err != nil || len(r.waits) != 1 {
			t.Errorf("%d requests and error %v, want 2 and none", 1+len(r.waits), r.err)
		}
	})

	errRefused := errors.New("refused")
	inBubble(t, "error of CheckRetry", refusing(9, fields("30")), func(t *testing.T, s *server) {
		r := do(t.Context(), s, func(client *retryablehttp.Client) {
			client.CheckRetry = func(context.Context, *http.Response, error) (bool, error) {
				return true, errRefused
			}
		})
		if !errors.Is(r.err, errRefused) || len(r.waits) != 4 || slices.Min(r.waits) < 30*time.Second {
			t.Errorf("waits %v and error %v, want 4 of at least 30s and %v", r.waits, r.err, errRefused)
		}
	})

	inBubble(t, "ErrorHandler", refusing(1, fields("soon")), func(t *testing.T, s *server) {
		r := do(t.Context(), s, func(client *retryablehttp.Client) {
			client.ErrorHandler = retryablehttp.PassthroughErrorHandler
		})
		checkStopped[*retryafter.FieldError](t, r)
		if r.status != http.StatusTooManyRequests {
			t.Errorf("status %d, want 429", r.status)
		}
	})

	inBubble(t, "response handler", refusing(1, fields("soon")), func(t *testing.T, s *server) {
		client := retryablehttp.NewClient()
		client.Logger = nil
		client.HTTPClient = &http.Client{Transport: s}
		RetryableHTTP(client, retryafter.Options{})
		r := s.do(t.Context(), func(ctx context.Context, url string) (int, error) {
			req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
			if err != nil {
				return 0, err
			}
			req.SetResponseHandler(func(*http.Response) error { return errRefused })
			return finish(client.Do(req))
		}, inMemory, 0)
		checkStopped[*retryafter.FieldError](t, r)
	})
}

// go-resty v2 has times that the caller can set.
func TestRestyV2Times(t *testing.T) {
	inBubble(t, "default maximum", refusing(1, fields("30")), func(t *testing.T, s *server) {
		call := useRestyV2(setup{base: s}, func(c *restyv2.Client) { RestyV2(c, retryafter.Options{}) })
		r := s.do(t.Context(), call, inMemory, 0)
		checkStopped[*retryafter.LimitError](t, r)
		if r.status != http.StatusTooManyRequests {
			t.Errorf("status %d, want 429", r.status)
		}
	})

	inBubble(t, "backoff of zero", refusing(1, noField), func(t *testing.T, s *server) {
		call := useRestyV2(setup{base: s}, func(c *restyv2.Client) {
			RestyV2(c.SetRetryWaitTime(0), retryafter.Options{})
		})
		r := s.do(t.Context(), call, inMemory, 0)
		if r.err != nil || len(r.waits) != 1 {
			t.Errorf("%d requests and error %v, want 2 and none", 1+len(r.waits), r.err)
		}
	})

	inBubble(t, "backoff that doubles", refusing(3, noField), func(t *testing.T, s *server) {
		opts := retryafter.Options{Jitter: noJitter}
		call := useRestyV2(setup{base: s}, func(c *restyv2.Client) { RestyV2(c, opts) })
		r := s.do(t.Context(), call, inMemory, 0)
		want := []time.Duration{100 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond}
		if r.err != nil || !slices.Equal(r.waits, want) {
			t.Errorf("waits %v and error %v, want %v and no error", r.waits, r.err, want)
		}
	})
}

// The same over the network and in real time. The client's clock is an hour ahead, and
// the server asks for 2 s by a date.
func TestRealTime(t *testing.T) {
	handler := refusing(1, func(now time.Time) http.Header {
		now = now.Add(-time.Hour)
		return http.Header{
			"Retry-After": {httpDate(now.Add(2 * time.Second))},
			"Date":        {httpDate(now)},
		}
	})
	network := httptest.NewServer(handler)
	defer network.Close()
	ways := withAdapter()
	results := make([]result, len(ways))
	var all sync.WaitGroup
	for number, w := range ways {
		all.Go(func() {
			call := w.start(setup{base: http.DefaultTransport, maximum: day})
			results[number] = handler.do(t.Context(), call, network.URL, number)
		})
	}
	all.Wait()
	for number, r := range results {
		if r.err != nil || len(r.waits) != 1 || r.waits[0] < 2*time.Second {
			t.Errorf("%v: waits %v and error %v, want one of at least 2s and no error",
				ways[number], r.waits, r.err)
		}
	}
}
