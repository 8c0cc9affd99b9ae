// Package retryafter computes how long to wait before retrying, from the
// Retry-After field of a 429 or 503 response. The wait is correct even if the
// client's clock is wrong, is never shorter than the server asked for (minus the age
// of the response), and is jittered so that clients refused together do not return
// together.
//
// Retry-After holds a number of seconds or an HTTP-date. Most code subtracts
// [time.Now] from the date, which mixes two clocks: if the client's clock is 40 s
// fast, a wait of 30 s becomes none; if it is 40 s slow, 70 s. Tests in which client
// and server share a clock do not find this error. Even if both clocks are right, the
// difference is up to a second too short, because the server rounds the date down to
// a whole second. This package subtracts the Date field of the same response instead,
// which comes from the same clock.
//
// There are three functions; each can be used without the ones after it.
// [ParseRetryAfter] parses one field value, [Plan] computes a wait from the header of
// a response, and [WaitFor] waits. The package sends no requests and contains no
// retry loop. This is the part of a loop that it takes over:
//
//	plan, err := retryafter.Plan(resp.Header, retryafter.Options{
//		Attempt: attempt,
//		MinWait: backoff(attempt),
//	})
//	if err != nil {
//		return err // do not retry: the wait is too long, or cannot be determined
//	}
//	if err := retryafter.WaitFor(ctx, plan); err != nil {
//		return err // ctx is done, or its deadline is before the end of the wait
//	}
//
// See the RetryLoop example for a complete loop, and the Transport example for a
// client that retries by itself.
//
// # Parsing
//
// [ParseRetryAfter] accepts the grammar of RFC 9110 §10.2.3 and nothing else:
// delay-seconds, or any of the three forms of HTTP-date in §5.6.7, with the
// calendar, the day name and the time zone checked. Anything else is rejected with a
// [FieldError] that says what is wrong. Nothing is guessed and nothing overflows: a
// wait of more than 50 years is [ErrTooFarAhead]. A two-digit year is 19yy or 20yy,
// whichever the day name fits, so no clock is read.
//
// # Planning
//
// [Plan] computes the floor, which is the server's minimum, and the wait:
//
//	Instructed = delay-seconds, or HTTP-date - Date
//	Age        = Options.Age, if set; otherwise the Age field + the round trip (each 0 if absent)
//	Floor      = max(0, Instructed - Age)
//	Wait       = max(Floor, MinWait) + Jitter
//
// Wait is never below Floor. Jitter is drawn from a window above the longer of Floor
// and MinWait, at random or by hashing a stable key; see [Jitter]. Options.MaxWait
// can narrow the window. If even the narrowest window, usually 250 ms, does not fit,
// Plan returns an error: the wait is never shortened below Floor or MinWait, because
// that would be an early retry. Whether Plan returns a plan or an error does not depend
// on which number from 0 to 1 is drawn.
//
// If the response has no Retry-After, the plan waits Options.MinWait, which is the
// caller's own backoff. After any error of Plan, do not retry: the wait is too long
// or cannot be determined.
//
// # Waiting
//
// [WaitFor] waits until the plan's deadline, and never returns nil before it. If ctx is
// done, at the call or during the wait, it returns the error of ctx. If the wait would
// not be over before the deadline of ctx, it returns a [LimitError] at once.
//
// # Clocks
//
// Except in the case at the end of this section, the client's wall clock is used in
// four places only: RetryPlan.Skew, which is only reported; [TrustClientClock], which
// is opt-in; [Deadline.EstimatedWall]; and WaitFor, if the deadline of ctx has no
// monotonic reading. A [Deadline] is an instant on the monotonic clock, and steps of
// the wall clock do not move it. On systems whose monotonic clock stops during sleep,
// a wait is longer by the duration of the sleep, never shorter.
//
// This package counts both forms of Retry-After from when the response was generated,
// so the age of a cached response is subtracted from both. In RFC 9110, delay-seconds
// count from receipt. For that, set Options.Age to a pointer to zero.
//
// Go's times have a monotonic reading only in the years 1885 to 2157. If the wall clock
// was outside these years when the process began, Plan ignores RequestSentAt and
// ResponseReceivedAt, WaitFor waits the plan's whole Wait from the moment that it is
// called, and [Deadline.Remaining] always returns that Wait.
//
// # Testing
//
// In a [testing/synctest] bubble, Plan and WaitFor use the bubble's clock, so a test
// of a retry loop can wait an hour instantly and assert exact durations. Inside the
// bubble, create the context, the plan, and RequestSentAt and ResponseReceivedAt if
// you set them. Serve requests from a [net/http.RoundTripper], not the network. In this
// example, fetch(ctx context.Context, client *http.Client) error is your own retry loop
// and is not shown:
//
//	// hourly answers 503 with "Retry-After: 3600" once, and then 200.
//	type hourly struct{ requests []time.Time }
//
//	func (h *hourly) RoundTrip(*http.Request) (*http.Response, error) {
//		h.requests = append(h.requests, time.Now())
//		resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}
//		if len(h.requests) == 1 {
//			resp.StatusCode = http.StatusServiceUnavailable
//			resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
//			resp.Header.Set("Retry-After", "3600")
//		}
//		return resp, nil
//	}
//
//	func TestFetchWaits(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			server := &hourly{}
//			if err := fetch(t.Context(), &http.Client{Transport: server}); err != nil {
//				t.Fatal(err)
//			}
//			if len(server.requests) != 2 {
//				t.Fatalf("%d requests, want 2", len(server.requests))
//			}
//			waited := server.requests[1].Sub(server.requests[0])
//			if waited < time.Hour || waited > time.Hour+30*time.Second { // the window is 30 s wide
//				t.Errorf("waited %v, want 1h0m0s to 1h0m30s", waited)
//			}
//		})
//	}
//
// For an exact wait, give fetch a Jitter parameter, and pass a Jitter whose Rand
// returns 0.
package retryafter
