package retryafter_test

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/retryafter"
)

// The clock of this server is 40 seconds behind the client's, as one of the two
// often is. It says "come back in a second", and the usual subtraction of
// time.Now from Retry-After hears "come back at once".
func Example() {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests > 1 {
			return // 200 OK
		}
		now := time.Now().Add(-40 * time.Second).UTC()
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("Retry-After", now.Add(time.Second).Format(http.TimeFormat))
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer server.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	date, _ := http.ParseTime(resp.Header.Get("Retry-After"))
	fmt.Println("by subtraction:", max(0, time.Until(date)))

	plan, err := retryafter.Plan(resp.Header, retryafter.Options{})
	if err != nil {
		log.Fatal(err) // no safe wait can be computed
	}
	if err := retryafter.WaitFor(ctx, plan); err != nil {
		log.Fatal(err) // the context ended, or would before the wait
	}
	fmt.Println("planned floor: ", plan.Floor)

	resp, err = http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	// Output:
	// 429 Too Many Requests
	// by subtraction: 0s
	// planned floor:  1s
	// 200 OK
}

func ExampleParseRetryAfter() {
	for _, value := range []string{"120", "Tue, 04 Aug 2026 12:00:30 GMT"} {
		in, err := retryafter.ParseRetryAfter(value)
		if err != nil {
			log.Fatal(err)
		}
		switch in.Source {
		case retryafter.DelaySeconds:
			fmt.Println(in.Source, in.Delay)
		case retryafter.HTTPDate:
			fmt.Println(in.Source, in.Date)
		}
	}

	_, err := retryafter.ParseRetryAfter("Tue, 04 Aug 2026 12:00:30 EST")
	fmt.Println(errors.Is(err, retryafter.ErrNonGMTZone))
	fmt.Println(err)

	// Output:
	// delay-seconds 2m0s
	// http-date 2026-08-04 12:00:30 +0000 UTC
	// true
	// retryafter: Retry-After "Tue, 04 Aug 2026 12:00:30 EST": the zone is missing or not GMT: have the server convert the time to UTC and end it with GMT
}

func ExamplePlan() {
	header := http.Header{}
	header.Set("Date", "Tue, 04 Aug 2026 12:00:00 GMT")
	header.Set("Retry-After", "Tue, 04 Aug 2026 12:00:30 GMT")

	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	// Whatever this machine's clock says.
	fmt.Println("never before:", plan.Floor)
	fmt.Println("up to:       ", plan.Floor+plan.Spread)

	// Output:
	// never before: 30s
	// up to:        37.5s
}

// A client with a stable name keeps its place within a round and changes it
// between rounds, on every machine: a herd that came together once does not
// come together again.
func ExamplePlan_key() {
	header := http.Header{"Retry-After": {"30"}}
	for attempt := 1; attempt <= 2; attempt++ {
		for _, client := range []string{"client-7", "client-8"} {
			plan, err := retryafter.Plan(header, retryafter.Options{
				Attempt: attempt,
				Jitter:  retryafter.Jitter{Key: client},
			})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("attempt", attempt, client, plan.Wait.Round(time.Millisecond))
		}
	}

	// Output:
	// attempt 1 client-7 33.116s
	// attempt 1 client-8 33.729s
	// attempt 2 client-7 36.996s
	// attempt 2 client-8 36.136s
}

// A cache kept this 429 for 20 seconds, which are over already.
func ExamplePlan_cached() {
	header := http.Header{"Retry-After": {"30"}, "Age": {"20"}}
	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Instructed, "-", plan.Age, "=", plan.Floor)

	// RFC 9110 words delay-seconds as counted from the receipt of the response, and
	// some caches cannot be trusted with Age: count it so.
	plan, err = retryafter.Plan(header, retryafter.Options{Age: new(time.Duration)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Instructed, "-", plan.Age, "=", plan.Floor)

	// Output:
	// 30s - 20s = 10s
	// 30s - 0s = 30s
}

// Where the way back is slow, and the seconds it takes are worth having, the two
// times tell how long it was. They are those of the exchange alone: the whole of
// Do may have resolved a name, dialed, shaken hands and followed redirects, and
// all of that would count as age of a response that was not made yet.
func ExamplePlan_roundTrip() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()

	// The hooks run in goroutines of the transport, some after Do has returned.
	var mu sync.Mutex
	var sent, received time.Time
	interim := false
	trace := &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) {
			mu.Lock()
			defer mu.Unlock()
			sent = time.Now()
		},
		GotFirstResponseByte: func() {
			mu.Lock()
			defer mu.Unlock()
			received = time.Now()
		},
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			mu.Lock()
			defer mu.Unlock()
			interim = true // the first byte was this one's
			return nil
		},
	}
	ctx := httptrace.WithClientTrace(context.Background(), trace)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()

	var opts retryafter.Options
	mu.Lock()
	// A server may answer before it has read the whole request. Then there is no
	// round trip to measure, and without one the wait is merely the longer.
	if !sent.IsZero() && !received.Before(sent) && !interim {
		opts.RequestSentAt, opts.ResponseReceivedAt = sent, received
	}
	mu.Unlock()
	plan, err := retryafter.Plan(resp.Header, opts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("floor and age:", plan.Floor+plan.Age)

	// Output:
	// floor and age: 30s
}

func ExamplePlan_missingDate() {
	later := time.Now().Add(90 * time.Minute).UTC()
	header := http.Header{"Retry-After": {later.Format(http.TimeFormat)}}

	_, err := retryafter.Plan(header, retryafter.Options{})
	fmt.Println(errors.Is(err, retryafter.ErrMissingDate))

	// If the origin cannot be made to send Date, and this machine's clock is known to
	// be right, its error can be accepted by name.
	plan, err := retryafter.Plan(header, retryafter.Options{
		OnMissingDate: retryafter.TrustClientClock,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.TrustedClientClock, plan.Floor.Round(10*time.Minute))

	// Output:
	// true
	// true 1h30m0s
}

// An hour does not fit ten seconds. Neither is waited: what does not fit comes
// with the whole plan, for whoever can wait longer.
func ExamplePlan_maxWait() {
	header := http.Header{"Retry-After": {"3600"}}
	plan, err := retryafter.Plan(header, retryafter.Options{MaxWait: 10 * time.Second})
	if errors.Is(err, retryafter.ErrExceedsMaxWait) {
		fmt.Println("not before", plan.Floor, "from now")
		fmt.Println(err)
	}

	// Output:
	// not before 1h0m0s from now
	// retryafter: the wait does not fit MaxWait: do not retry now, but queue the work or tell the caller (at least 1h0m0.25s, and the limit is 10s)
}

// Some servers write the wait into the body, and into no field. Rounded up, put
// into the field, it is planned and refused like any other.
func ExamplePlan_body() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, `{"error": "slow down", "retry_after_seconds": 1.5}`)
	}))
	defer server.Close()

	resp, err := http.Get(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()

	header := resp.Header
	var body struct {
		RetryAfterSeconds *float64 `json:"retry_after_seconds"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&body); err != nil {
		log.Fatal(err)
	}
	if body.RetryAfterSeconds != nil && header.Get("Retry-After") == "" {
		seconds := math.Ceil(*body.RetryAfterSeconds)
		header.Set("Retry-After", strconv.FormatFloat(seconds, 'f', 0, 64))
	}
	plan, err := retryafter.Plan(header, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Floor)

	// Output:
	// 2s
}

// A budget is the deadline of a context. A wait that cannot fit it is refused at
// once, while there is still time to do something else.
func ExampleWaitFor() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()

	plan, err := retryafter.Plan(http.Header{"Retry-After": {"30"}}, retryafter.Options{})
	if err != nil {
		log.Fatal(err)
	}
	err = retryafter.WaitFor(ctx, plan)
	fmt.Println(errors.Is(err, retryafter.ErrExceedsDeadline))
	fmt.Println(errors.Is(err, context.DeadlineExceeded), ctx.Err())

	// Output:
	// true
	// true <nil>
}

// backoff is the caller's own, for where the server gave no instruction: full
// jitter over an exponential, from 100 ms doubling to 2 s.
func backoff(attempt int, random func() float64) time.Duration {
	ceiling := 2 * time.Second
	if doublings := attempt - 1; doublings < 5 {
		ceiling = min(ceiling, 100*time.Millisecond<<doublings)
	}
	return max(1, time.Duration(random()*float64(ceiling))) // a MinWait of zero would be none
}

// retryable reports whether an answer may be another one next time, and the
// request may be sent once more to find out.
func retryable(req *http.Request, status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return false
	}
	safe := []string{http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace}
	return slices.Contains(safe, req.Method) || req.Header.Get("Idempotency-Key") != ""
}

// send sends a request until it has an answer worth having, at most five times
// and as long as the context allows. It is the only retry there should be: five
// tries around these five are twenty-five requests to a server that asked for
// fewer, and none of the outer ones keeps to its instruction.
func send(ctx context.Context, build func(context.Context) (*http.Request, error)) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		req, err := build(ctx) // anew, for the body of the last one is used up
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err // not retried: the request may have been carried out
		}
		if attempt == 5 || !retryable(req, resp.StatusCode) {
			return resp, nil
		}
		// The rest of the body is read so that the connection can be used again.
		io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
		resp.Body.Close()

		plan, err := retryafter.Plan(resp.Header, retryafter.Options{
			Attempt: attempt,
			MinWait: backoff(attempt, rand.Float64), // also against a Retry-After of 0
		})
		// Only without an instruction may a client go on by its own backoff, which
		// the plan is then of.
		if err != nil && !errors.Is(err, retryafter.ErrNoRetryAfter) {
			return nil, err
		}
		if err := retryafter.WaitFor(ctx, plan); err != nil {
			return nil, err
		}
	}
}

func Example_retryLoop() {
	var requests, bodies []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, r.Header.Get("Idempotency-Key"))
		bodies = append(bodies, string(body))
		switch {
		case r.URL.Path != "/orders":
			http.NotFound(w, r)
		case len(requests) == 1:
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		case len(requests) == 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // the budget
	defer cancel()

	post := func(path string) func(context.Context) (*http.Request, error) {
		key := cryptorand.Text() // one for the work, and so the same on every try
		return func(ctx context.Context) (*http.Request, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader("one tea"))
			if err == nil {
				req.Header.Set("Idempotency-Key", key)
			}
			return req, err
		}
	}
	for _, path := range []string{"/orders", "/nowhere"} {
		requests, bodies = nil, nil
		resp, err := send(ctx, post(path))
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
		fmt.Println(path, resp.StatusCode, "after", len(requests), "requests;",
			"one key:", len(slices.Compact(requests)) == 1, "and one body:", slices.Compact(bodies))
	}

	// The caller's own backoff at its longest.
	for attempt := 1; attempt <= 6; attempt++ {
		fmt.Print(backoff(attempt, func() float64 { return 1 }), " ")
	}

	// Output:
	// /orders 200 after 3 requests; one key: true and one body: [one tea]
	// /nowhere 404 after 1 requests; one key: true and one body: [one tea]
	// 100ms 200ms 400ms 800ms 1.6s 2s
}

// A service calls another, which is out for 30 seconds, and has ten of its own to
// answer in. It finds out at once, keeps the work, and says so.
func Example_budget() {
	const budget = 10 * time.Second
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, "quota used up")
	}))
	defer upstream.Close()

	// place places an order upstream. With an error that says to come back later, the
	// plan says when.
	place := func(ctx context.Context, key, order string) (retryafter.RetryPlan, error) {
		for attempt := 1; ; attempt++ {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream.URL, strings.NewReader(order))
			if err != nil {
				return retryafter.RetryPlan{}, err
			}
			req.Header.Set("Idempotency-Key", key)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return retryafter.RetryPlan{}, err
			}
			body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
			resp.Body.Close()
			if err != nil || resp.StatusCode/100 == 2 {
				return retryafter.RetryPlan{}, err
			}
			if attempt == 5 || !retryable(req, resp.StatusCode) {
				return retryafter.RetryPlan{}, fmt.Errorf("%s, %q", resp.Status, body)
			}
			plan, err := retryafter.Plan(resp.Header, retryafter.Options{
				Attempt: attempt,
				MinWait: backoff(attempt, rand.Float64),
				MaxWait: budget,
			})
			if err == nil || errors.Is(err, retryafter.ErrNoRetryAfter) {
				err = retryafter.WaitFor(ctx, plan)
			}
			if err != nil {
				return plan, fmt.Errorf("%s, %q: %w", resp.Status, body, err)
			}
		}
	}

	// work is what is kept under its Idempotency-Key until it can be done.
	type work struct {
		order     string
		notBefore time.Time // a wall time, for whichever process takes it up
	}
	var mu sync.Mutex
	queue := map[string]work{}
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), budget)
		defer cancel()
		key := r.Header.Get("Idempotency-Key")
		order, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<16))
		if err != nil || key == "" {
			http.Error(w, "an order and an Idempotency-Key are needed", http.StatusBadRequest)
			return
		}
		plan, err := place(ctx, key, string(order))
		later := errors.Is(err, retryafter.ErrExceedsMaxWait) || errors.Is(err, retryafter.ErrExceedsDeadline)
		switch {
		case later && !plan.Deadline.IsZero():
			fmt.Println(err)
			fmt.Println("floor:", plan.Floor)
			mu.Lock()
			queue[key] = work{string(order), plan.Deadline.EstimatedWall()}
			mu.Unlock()
			w.WriteHeader(http.StatusAccepted)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	}))
	defer service.Close()

	req, err := http.NewRequest(http.MethodPost, service.URL, strings.NewReader("one tea"))
	if err != nil {
		log.Fatal(err)
	}
	req.Header.Set("Idempotency-Key", "order-1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)
	mu.Lock()
	defer mu.Unlock()
	fmt.Println("kept:", queue["order-1"].order)

	// Output:
	// 429 Too Many Requests, "quota used up": retryafter: the wait does not fit MaxWait: do not retry now, but queue the work or tell the caller (at least 30.25s, and the limit is 10s)
	// floor: 30s
	// 202 Accepted
	// kept: one tea
}

// checkRetry is a CheckRetry of hashicorp/go-retryablehttp. The client calls it
// before Backoff, and it is where a plan that is refused or does not fit the
// context stops the client: Backoff can only say how long to wait. A longer backoff
// of the client's own is ended by the context.
func checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil || resp.Request == nil || !retryable(resp.Request, resp.StatusCode) {
		return false, nil // the client returns err, or the response
	}
	plan, err := retryafter.Plan(resp.Header, retryafter.Options{})
	switch {
	case errors.Is(err, retryafter.ErrNoRetryAfter):
		return true, nil
	case err != nil:
		return false, err
	}
	// Backoff makes a plan of its own, whose place is anywhere in the window.
	if end, ok := ctx.Deadline(); ok && time.Until(end) <= plan.Floor+plan.Spread {
		return false, retryafter.ErrExceedsDeadline
	}
	return true, nil
}

// plannedBackoff is a Backoff of hashicorp/go-retryablehttp.
func plannedBackoff(shortest, longest time.Duration, attempt int, resp *http.Response) time.Duration {
	own := shortest
	for range attempt {
		if own > longest/2 {
			own = longest
			break
		}
		own *= 2
	}
	if resp == nil {
		return own
	}
	// Any error but ErrNoRetryAfter has stopped the client in checkRetry.
	plan, _ := retryafter.Plan(resp.Header, retryafter.Options{Attempt: attempt, MinWait: own})
	return max(plan.Wait, own)
}

func Example_retryablehttp() {
	// The two fields of a retryablehttp.Client.
	var client struct {
		CheckRetry func(ctx context.Context, resp *http.Response, err error) (bool, error)
		Backoff    func(min, max time.Duration, attemptNum int, resp *http.Response) time.Duration
	}
	client.CheckRetry = checkRetry
	client.Backoff = plannedBackoff

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com", nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, value := range []string{"30", "3600", "soon"} {
		resp := &http.Response{
			StatusCode: http.StatusServiceUnavailable,
			Header:     http.Header{"Retry-After": {value}},
			Request:    req,
		}
		retry, err := client.CheckRetry(ctx, resp, nil)
		switch {
		case retry:
			wait := client.Backoff(time.Second, 30*time.Second, 0, resp)
			fmt.Println(value, "-> waits, from the floor on:", wait >= 30*time.Second)
		case errors.Is(err, retryafter.ErrExceedsDeadline):
			fmt.Println(value, "-> stops: it does not fit")
		default:
			fmt.Println(value, "-> stops: it cannot be read")
		}
	}

	// Output:
	// 30 -> waits, from the floor on: true
	// 3600 -> stops: it does not fit
	// soon -> stops: it cannot be read
}
