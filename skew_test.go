package retryafter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// naiveWait is the usual code at a given time on the client's clock: it subtracts an
// instant of the client from one of the server.
func naiveWait(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, _ := http.ParseTime(value)
	return max(0, date.Sub(now))
}

// offsets are the errors of a client's clock, positive if it is ahead of the server's.
var offsets = []struct {
	name  string
	ahead time.Duration
}{
	{"10 years behind", -10 * aYear},
	{"1 day behind", -24 * time.Hour},
	{"1 hour behind", -time.Hour},
	{"40 s behind", -40 * time.Second},
	{"right", 0},
	{"40 s ahead", 40 * time.Second},
	{"1 hour ahead", time.Hour},
	{"1 day ahead", 24 * time.Hour},
	{"10 years ahead", 10 * aYear},
}

// TestSkew compares the waits of clients whose clocks are wrong, for one response. Then
// it shows that even with right clocks the usual code is up to a second early.
func TestSkew(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\nRetry-After: %s\nDate:        %s\n\n", d30, d0)
	fmt.Fprintf(&table, "%-16s %17s %8s %16s\n", "client's clock", "usual code waits", "floor", "skew reported")
	local := time.Local
	defer func() { time.Local = local }()
	for _, offset := range offsets {
		client := t0.Add(offset.ahead)
		header := fields("Retry-After", d30, "Date", d0)
		naive := naiveWait(header, client)
		p, err := planOn(client, header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-16s %17v %8v %16v\n", offset.name, naive, p.Floor, p.Skew)

		// 30 s minus the clock's error, at least 0.
		if want := max(0, 30*time.Second-offset.ahead); naive != want {
			t.Errorf("%s: the usual code waits %v, want %v", offset.name, naive, want)
		}
		if p.Floor != 30*time.Second || p.Skew != offset.ahead || !p.SkewKnown {
			t.Errorf("%s: floor %v and skew %v, want 30s and %v", offset.name, p.Floor, p.Skew, offset.ahead)
		}

		// The same date as asctime, which has no zone and means GMT, on machines in other
		// time zones.
		for _, zone := range []*time.Location{time.FixedZone("New York", -4*3600), time.FixedZone("Kathmandu", 5*3600+45*60)} {
			time.Local = zone
			p, err := planOn(client.In(zone), fields("Retry-After", "Tue Aug  4 12:00:30 2026", "Date", d0), Options{})
			if err != nil || p.Floor != 30*time.Second || p.Skew != offset.ahead {
				t.Errorf("%s, in %v: %v, %v", offset.name, zone, p, err)
			}
		}
	}

	// The server rounds both dates down to whole seconds.
	fmt.Fprintf(&table, "\nBoth clocks are right, and the server responds a part of a second after 12:00:00.\n")
	fmt.Fprintf(&table, "%-16s %17s %8s\n", "after 12:00:00", "usual code waits", "floor")
	for _, part := range []time.Duration{0, 250, 500, 750, 999} {
		part *= time.Millisecond
		client := t0.Add(part)
		header := fields("Retry-After", d30, "Date", d0)
		naive := naiveWait(header, client)
		p, err := planOn(client, header, Options{})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-16v %17v %8v\n", part, naive, p.Floor)
		if naive != 30*time.Second-part || p.Floor != 30*time.Second {
			t.Errorf("%v after 12:00:00: the usual code waits %v and the floor is %v", part, naive, p.Floor)
		}
	}
	t.Log(table.String())
}

// TestSkewOverHTTP does the same with a real server, whose clock differs from this
// machine's.
func TestSkewOverHTTP(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-16s %17s %8s %16s\n", "client's clock", "usual code waits", "floor", "skew reported")
	for _, offset := range offsets {
		var made, date time.Time // the time of the response, by this clock and by the server's
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			made = time.Now()
			date = made.Add(-offset.ahead).UTC().Truncate(time.Second)
			w.Header().Set("Date", date.Format(http.TimeFormat))
			w.Header().Set("Retry-After", date.Add(30*time.Second).Format(http.TimeFormat))
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		resp, err := http.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		server.Close()
		p, err := Plan(resp.Header, Options{})
		after := time.Now()
		if err != nil {
			t.Fatal(err)
		}
		naive := naiveWait(resp.Header, made) // at the moment of the response
		fmt.Fprintf(&table, "%-16s %17v %8v %16v\n",
			offset.name, naive.Round(time.Second), p.Floor, p.Skew.Round(time.Second))

		// Date is rounded down, so the skew is the offset, up to a second more, and the
		// time since the response.
		if atMost := after.Round(0).Sub(date); p.Floor != 30*time.Second || p.Skew < offset.ahead || p.Skew > atMost {
			t.Errorf("%s: floor %v and skew %v, want 30s and %v to %v", offset.name, p.Floor, p.Skew, offset.ahead, atMost)
		}
		// Retry-After is rounded down too, so the usual code waits up to a second less.
		if right := 30*time.Second - offset.ahead; naive > max(0, right) || naive < max(0, right-time.Second) {
			t.Errorf("%s: the usual code waits %v, want %v, or up to a second less", offset.name, naive, max(0, right))
		}
	}
	t.Log(table.String())
}

// apparentAge is the apparent_age of RFC 9111 §4.2.3, which this package does not use,
// because it mixes two clocks: max(0, response_time - date_value).
func apparentAge(header http.Header, responseTime time.Time) time.Duration {
	date, _ := http.ParseTime(header.Get("Date"))
	return max(0, responseTime.Sub(date))
}

// TestApparentAge shows that on a client 40 s fast apparent_age is 40 s for a new
// response, which would subtract the whole wait.
func TestApparentAge(t *testing.T) {
	header := fields("Retry-After", d30, "Date", d0)
	client := t0.Add(40 * time.Second)
	if naive := apparentAge(header, client); naive != 40*time.Second {
		t.Errorf("apparent_age is %v, want 40s", naive)
	}
	if p, err := planOn(client, header, Options{}); err != nil || p.Age != 0 || p.Floor != 30*time.Second {
		t.Errorf("%v, %v", p, err)
	}
}

// TestWaitFor waits in a bubble: it has not returned one nanosecond before the deadline,
// and has returned at the deadline.
func TestWaitFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Plan(fields("Retry-After", "30"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- WaitFor(t.Context(), p) }()
		time.Sleep(p.Wait - 1)
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("one nanosecond early: %v", err)
		default:
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("not done at the deadline")
		}
	})
}

var (
	errCause = errors.New("the cause")
	errPeer  = fmt.Errorf("%w by the peer", context.Canceled)
)

// TestWaitForUnderContexts tests each check of WaitFor against those that come after it,
// and the time that each takes.
func TestWaitForUnderContexts(t *testing.T) {
	const long = 10 * time.Minute
	plan := func(wait time.Duration) RetryPlan {
		p, err := Plan(fields("Retry-After", "0"), Options{MinWait: wait, Jitter: Jitter{Spread: 1, Rand: noJitter}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	passed := func() RetryPlan {
		p := plan(time.Second)
		time.Sleep(time.Second)
		return p
	}
	canceled := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		return ctx
	}
	// t.Cleanup stops the timer of the context, which would keep the bubble from ending.
	within := func(t *testing.T, d time.Duration) context.Context {
		ctx, cancel := context.WithTimeoutCause(context.Background(), d, errCause)
		t.Cleanup(cancel)
		return ctx
	}
	for _, c := range []struct {
		name string
		plan func() RetryPlan
		ctx  func(t *testing.T) context.Context
		want []error // the error is each of these; nil if there is none
		not  error   // the error is not this one
		text string  // the message, if it matters
		took time.Duration
	}{
		{
			name: "a zero plan comes before a canceled context",
			plan: func() RetryPlan { return RetryPlan{} },
			ctx:  func(*testing.T) context.Context { return canceled(nil) },
			want: []error{ErrZeroPlan}, not: context.Canceled,
		}, {
			name: "a plan without a deadline",
			plan: func() RetryPlan { return RetryPlan{Wait: time.Second, Floor: time.Second} },
			ctx:  func(t *testing.T) context.Context { return t.Context() },
			want: []error{ErrZeroPlan},
		}, {
			name: "a canceled context comes before a passed plan",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(nil) },
			want: []error{context.Canceled},
		}, {
			name: "a canceled context with a cause",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(errCause) },
			want: []error{context.Canceled, errCause},
		}, {
			name: "an expired context comes before the plan",
			plan: func() RetryPlan { return plan(long) },
			ctx: func(t *testing.T) context.Context {
				ctx := within(t, time.Second)
				time.Sleep(time.Second)
				<-ctx.Done()
				return ctx
			},
			want: []error{context.DeadlineExceeded, errCause}, not: ErrExceedsDeadline,
		}, {
			name: "a passed plan comes before a context about to expire",
			plan: passed,
			ctx:  func(t *testing.T) context.Context { return within(t, 1) },
		}, {
			name: "a plan without any wait",
			plan: func() RetryPlan {
				p, err := planAt(systemNow(), fields("Retry-After", "0"), &Options{Jitter: Jitter{Rand: noJitter}})
				if err != nil || p.Wait != 0 {
					t.Fatal(p, err)
				}
				return p
			},
			ctx: func(t *testing.T) context.Context { return within(t, 1) },
		}, {
			name: "a plan passed long ago",
			plan: func() RetryPlan { p := plan(time.Second); time.Sleep(time.Hour); return p },
			ctx:  func(t *testing.T) context.Context { return t.Context() },
		}, {
			name: "a plan of 10 min in a context of 5",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long/2) },
			want: []error{ErrExceedsDeadline, context.DeadlineExceeded}, not: errCause,
		}, {
			name: "a context that ends a nanosecond before the plan",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long-1) },
			want: []error{ErrExceedsDeadline},
		}, {
			name: "a context that ends with the plan",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long) },
			want: []error{ErrExceedsDeadline},
		}, {
			name: "a context that ends a nanosecond after the plan",
			plan: func() RetryPlan { return plan(long) },
			ctx:  func(t *testing.T) context.Context { return within(t, long+1) },
			took: long,
		}, {
			name: "a context canceled with a cause during the wait",
			plan: func() RetryPlan { return plan(5 * time.Minute) },
			ctx: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancelCause(context.Background())
				time.AfterFunc(time.Second, func() { cancel(errCause) })
				return ctx
			},
			want: []error{context.Canceled, errCause},
			took: time.Second,
		}, {
			name: "a context canceled during the wait",
			plan: func() RetryPlan { return plan(5 * time.Minute) },
			ctx: func(t *testing.T) context.Context {
				ctx, cancel := context.WithCancel(context.Background())
				time.AfterFunc(time.Second, cancel)
				return ctx
			},
			want: []error{context.Canceled},
			took: time.Second,
		}, {
			name: "a cause that is itself context.Canceled",
			plan: passed,
			ctx:  func(*testing.T) context.Context { return canceled(errPeer) },
			want: []error{context.Canceled, errPeer}, text: errPeer.Error(),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, ctx := c.plan(), c.ctx(t)
				start := time.Now()
				err := WaitFor(ctx, p)
				if took := time.Since(start); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if (err == nil) != (c.want == nil) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				for _, want := range c.want {
					if !errors.Is(err, want) {
						t.Errorf("error %v is not %v", err, want)
					}
				}
				if c.not != nil && errors.Is(err, c.not) {
					t.Errorf("error %v is %v", err, c.not)
				}
				if c.text != "" && err.Error() != c.text {
					t.Errorf("error %v, want %s", err, c.text)
				}
				var limit *LimitError
				if errors.As(err, &limit) != errors.Is(err, ErrExceedsDeadline) || limit != nil && limit.Plan != p {
					t.Errorf("error %#v, want a LimitError with the plan if it is ErrExceedsDeadline", err)
				}
				if ctx.Err() != nil && context.Cause(ctx) == ctx.Err() && err != ctx.Err() && err != ErrZeroPlan {
					t.Errorf("error %v, want ctx.Err() as it is", err)
				}
			})
		})
	}
}

// An oddContext is done with an error of a type that cannot be compared.
type oddContext struct{ context.Context }

type oddError []string

func (e oddError) Error() string { return e[0] }

func (oddContext) Err() error            { return oddError{"an odd error"} }
func (oddContext) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

// A brokenContext is done but has no error.
type brokenContext struct{ oddContext }

func (brokenContext) Err() error { return nil }

func TestWaitForOddContext(t *testing.T) {
	p, _ := Plan(fields("Retry-After", "30"), Options{})
	if err := WaitFor(oddContext{context.Background()}, p); err == nil || !strings.Contains(err.Error(), "an odd error") {
		t.Errorf("error %v", err)
	}
	if err := WaitFor(brokenContext{oddContext{context.Background()}}, p); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestDeadline(t *testing.T) {
	var zero Deadline
	if !zero.IsZero() || zero.Remaining() != 0 || !zero.EstimatedWall().IsZero() {
		t.Errorf("the zero Deadline: %v, %v, %v", zero.IsZero(), zero.Remaining(), zero.EstimatedWall())
	}
	p, err := Plan(fields("Retry-After", "30"), Options{})
	if err != nil || p.Deadline.IsZero() {
		t.Fatal(p, err)
	}
	if left := p.Deadline.Remaining(); left > p.Wait {
		t.Errorf("%v remain of %v", left, p.Wait)
	}
	if wall := p.Deadline.EstimatedWall(); hasMonotonic(wall) {
		t.Errorf("%v has a monotonic reading", wall)
	}
	if !processStart.monotonic || !hasMonotonic(systemNow().wall) {
		t.Error("the clock of this process has no monotonic reading")
	}
	// A deadline at the zero of the monotonic clock is set.
	now := instant{wall: t0, mono: -30 * time.Second}
	q, err := planAt(now, fields("Retry-After", "30"), &Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		t.Fatal(err)
	}
	if q.Deadline.IsZero() || q.Deadline.remainingAt(now) != 30*time.Second || q.Deadline.wallAt(now) != t0.Add(30*time.Second) {
		t.Errorf("a deadline at 0: %+v", q.Deadline)
	}
}

// A machine has a wall clock, a monotonic clock and timers that a test controls. Each
// timer that WaitFor starts calls onTimer, which lets time pass and reports whether the
// timer then fires. There is one goroutine only.
type machine struct {
	wall    time.Time
	mono    time.Duration
	onTimer func(m *machine, d time.Duration) (fires bool)
	armed   []time.Duration // the duration of each timer
	timers  []*time.Timer
}

func (m *machine) now() instant { return instant{wall: m.wall, mono: m.mono} }

func (m *machine) clock() clock {
	return clock{
		now: m.now,
		newTimer: func(d time.Duration) *time.Timer {
			// A real timer, so that Stop works, with a channel of the test.
			timer, fired := time.NewTimer(math.MaxInt64), make(chan time.Time, 1)
			timer.C = fired
			m.armed, m.timers = append(m.armed, d), append(m.timers, timer)
			if m.onTimer(m, d) {
				timer.Stop()
				fired <- m.wall
			}
			return timer
		},
	}
}

// left counts the timers that have neither fired nor been stopped.
func (m *machine) left() int {
	n := 0
	for _, timer := range m.timers {
		if timer.Stop() {
			n++
		}
	}
	return n
}

// pass lets time pass on both clocks.
func (m *machine) pass(d time.Duration) { m.wall, m.mono = m.wall.Add(d), m.mono+d }

// onTime lets a timer fire when it is due.
func onTime(m *machine, d time.Duration) bool { m.pass(d); return true }

// plan30 returns a plan of 30 s, made now.
func (m *machine) plan30(t *testing.T) RetryPlan {
	p, err := planAt(m.now(), fields("Retry-After", "30"), &Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wallClockWait waits as code does that stores the deadline as a wall time. It reads the
// wall clock every ten seconds.
func wallClockWait(m *machine, until time.Time) {
	for m.wall.Before(until) {
		m.onTimer(m, min(until.Sub(m.wall), 10*time.Second))
	}
}

// TestSteppedClock steps the wall clock after ten seconds of a wait of thirty.
func TestSteppedClock(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-28s %24s %10s\n", "wall clock, during 30 s", "wall-clock deadline", "WaitFor")
	for _, c := range []struct {
		name  string
		step  func(m *machine, d time.Duration)
		naive time.Duration // how long wallClockWait takes
	}{
		{"not stepped", func(*machine, time.Duration) {}, 30 * time.Second},
		{"stepped 1 hour ahead", once(time.Hour), 10 * time.Second},
		{"stepped 1 hour back", once(-time.Hour), time.Hour + 30*time.Second},
		{"stepped 1 day ahead", once(24 * time.Hour), 10 * time.Second},
		{"stepped 1 day back", once(-24 * time.Hour), 24*time.Hour + 30*time.Second},
		{"stepped 1 year ahead", once(aYear), 10 * time.Second},
		{"stepped 1 year back", once(-aYear), aYear + 30*time.Second},
		// NTP slews by at most 500 ppm, 5 ms in 10 s. After 20 s a fast clock is 10 ms
		// ahead, and 9.99 s are left. After 30 s a slow clock is 15 ms behind, then 7.5 us
		// after these 15 ms, then 3.75 ns.
		{"slewed 500 ppm fast", slew(500), 29990 * time.Millisecond},
		{"slewed 500 ppm slow", slew(-500), 30*time.Second + 15*time.Millisecond + 7503},
		{"slewed there and back", func(m *machine, d time.Duration) { slew(500)(m, d/2); slew(-500)(m, d/2) }, 30 * time.Second},
	} {
		step := func(m *machine, d time.Duration) bool { m.pass(d); c.step(m, d); return true }

		m := &machine{wall: t0, onTimer: step}
		wallClockWait(m, t0.Add(30*time.Second))
		naive := m.mono

		m = &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			// One timer, during which time passes in steps of ten seconds.
			for ; d > 10*time.Second; d -= 10 * time.Second {
				step(m, 10*time.Second)
			}
			return step(m, d)
		}}
		p := m.plan30(t)
		if err := m.clock().waitFor(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "%-28s %24v %10v\n", c.name, naive, m.mono)
		if left := m.left(); m.mono != 30*time.Second || left != 0 {
			t.Errorf("%s: WaitFor took %v and left %d timers", c.name, m.mono, left)
		}
		if naive != c.naive {
			t.Errorf("%s: the wall-clock deadline took %v, want %v", c.name, naive, c.naive)
		}
	}
	t.Log(table.String())
}

// once steps the wall clock after the first ten seconds.
func once(step time.Duration) func(*machine, time.Duration) {
	return func(m *machine, _ time.Duration) {
		if m.mono == 10*time.Second {
			m.wall = m.wall.Add(step)
		}
	}
}

// slew makes the wall clock faster by ppm parts per million.
func slew(ppm int64) func(*machine, time.Duration) {
	return func(m *machine, d time.Duration) { m.wall = m.wall.Add(d * time.Duration(ppm) / 1e6) }
}

// TestTimersThatMisfire lets timers fire early and late.
func TestTimersThatMisfire(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n%-34s %14s %12s %7s\n", "the timer fires", "a bare timer", "WaitFor", "timers")
	for _, c := range []struct {
		name    string
		onTimer func(m *machine, d time.Duration) bool
		want    time.Duration
		timers  int
	}{
		{"on time", onTime, 30 * time.Second, 1},
		{"early by a nanosecond, once", early(1, func(d time.Duration) time.Duration { return d - 1 }), 30 * time.Second, 2},
		{"at once, ten times in a row", early(10, func(time.Duration) time.Duration { return 0 }), 30 * time.Second, 11},
		{"at half the time, ten times", early(10, func(d time.Duration) time.Duration { return d / 2 }), 30 * time.Second, 11},
		{"at once, a thousand times", early(1000, func(time.Duration) time.Duration { return 0 }), 30 * time.Second, 1001},
		{"late by a nanosecond", func(m *machine, d time.Duration) bool { m.pass(d + 1); return true }, 30*time.Second + 1, 1},
		{"late by an hour", func(m *machine, d time.Duration) bool { m.pass(d + time.Hour); return true }, time.Hour + 30*time.Second, 1},
	} {
		m := &machine{wall: t0, onTimer: c.onTimer}
		p := m.plan30(t)
		if err := m.clock().waitFor(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
		took, timers, left := m.mono, len(m.armed), m.left()

		// One timer alone, as in a Sleep.
		m = &machine{wall: t0, onTimer: c.onTimer}
		m.onTimer(m, 30*time.Second)
		fmt.Fprintf(&table, "%-34s %14v %12v %7d\n", c.name, m.mono, took, timers)
		if took != c.want || timers != c.timers || left != 0 {
			t.Errorf("%s: took %v by %d timers, want %v by %d", c.name, took, timers, c.want, c.timers)
		}
	}
	t.Log(table.String())
}

// early lets the first timers fire early and the others on time.
func early(times int, when func(time.Duration) time.Duration) func(*machine, time.Duration) bool {
	return func(m *machine, d time.Duration) bool {
		if len(m.armed) > times {
			return onTime(m, d)
		}
		m.pass(when(d))
		return true
	}
}

// TestCancelLeavesNoTimer cancels the context while the timer runs.
func TestCancelLeavesNoTimer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	m := &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
		m.pass(d / 2)
		cancel(errCause)
		return false
	}}
	p := m.plan30(t)
	err := m.clock().waitFor(ctx, &p)
	if left := m.left(); !errors.Is(err, context.Canceled) || !errors.Is(err, errCause) || left != 0 || len(m.armed) != 1 {
		t.Errorf("%v, with %d of %d timers left", err, left, len(m.armed))
	}
}

// A wallContext has a deadline without a monotonic reading, as a stored time has.
type wallContext struct {
	context.Context
	deadline time.Time
}

func (c wallContext) Deadline() (time.Time, bool) { return c.deadline, true }

// TestWallClockContext compares such a deadline with the wall clock, as a context does,
// even if that clock was stepped.
func TestWallClockContext(t *testing.T) {
	for _, c := range []struct {
		step time.Duration // between the plan and the wait
		err  error
	}{
		{0, nil},
		{-time.Hour, nil},                       // the context ends an hour later
		{time.Minute - 30*time.Second - 1, nil}, // the context ends a nanosecond after the plan
		{time.Minute - 30*time.Second, ErrExceedsDeadline}, // the context ends with the plan
		{time.Hour, ErrExceedsDeadline},                    // the deadline has passed, but the context is not done
	} {
		m := &machine{wall: t0, onTimer: onTime}
		p := m.plan30(t)
		m.wall = m.wall.Add(c.step)
		err := m.clock().waitFor(wallContext{t.Context(), t0.Add(time.Minute)}, &p)
		if !errors.Is(err, c.err) || err == nil && m.mono != 30*time.Second || err != nil && m.mono != 0 {
			t.Errorf("stepped by %v: %v after %v, want %v", c.step, err, m.mono, c.err)
		}
	}
}

// stepped returns now as it would be if the wall clock had been stepped back by d: its
// monotonic reading is later by d, and its wall time is the same. Package time cannot
// make such a time.
func stepped(t *testing.T, now time.Time, d time.Duration) time.Time {
	reading := now
	(*struct {
		wall uint64
		mono int64
		loc  *time.Location
	})(unsafe.Pointer(&reading)).mono += int64(d)
	if reading.Sub(now) != d || !reading.Round(0).Equal(now.Round(0)) {
		t.Skip("this version of Go has another time.Time")
	}
	return reading
}

// TestSteppedTimes steps the wall clock between the times of an exchange. Their
// difference on the monotonic clock counts.
func TestSteppedTimes(t *testing.T) {
	now := time.Now()
	opts := Options{
		RequestSentAt:      stepped(t, now, -10*time.Second-200*time.Millisecond),
		ResponseReceivedAt: stepped(t, now, -10*time.Second),
		Jitter:             Jitter{Rand: noJitter},
	}
	p, err := Plan(fields("Retry-After", "30"), opts)
	if err != nil || p.Age != 200*time.Millisecond {
		t.Fatalf("%v, %v", p, err)
	}
	if got, want := p.Deadline.mono, now.Sub(processStart.start)-10*time.Second+p.Wait; got != want {
		t.Errorf("the deadline is at %v, want %v", got, want)
	}
	// By the wall clock this context ends in an hour, by the monotonic clock before the plan.
	end := stepped(t, now.Add(time.Hour), -time.Hour+10*time.Second)
	if err := WaitFor(wallContext{t.Context(), end}, p); !errors.Is(err, ErrExceedsDeadline) {
		t.Error(err)
	}
}

// TestEstimatedWall steps the wall clock: EstimatedWall follows it, Remaining does not.
func TestEstimatedWall(t *testing.T) {
	m := &machine{wall: t0, onTimer: onTime}
	p := m.plan30(t)
	m.pass(10 * time.Second)
	m.wall = m.wall.Add(time.Hour)
	if got, want := p.Deadline.wallAt(m.now()), t0.Add(30*time.Second+time.Hour); !got.Equal(want) {
		t.Errorf("estimated as %v, want %v", got, want)
	}
	if got := p.Deadline.remainingAt(m.now()); got != 20*time.Second {
		t.Errorf("%v remain, want 20s", got)
	}
}

// A waitAction happens while WaitFor waits.
type waitAction struct {
	kind string
	d    time.Duration
}

// TestWaitForInvariants runs any sequence of actions during a wait. WaitFor never returns
// nil before the deadline, returns the error of a canceled context at once, and leaves
// no timer.
func TestWaitForInvariants(t *testing.T) {
	kinds := []string{"fire early", "fire on time", "fire late", "step the wall clock", "pass", "cancel"}
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "from the plan to the wait")
		var script []waitAction
		for i := range rapid.IntRange(0, 20).Draw(t, "actions") {
			script = append(script, waitAction{
				kind: rapid.SampledFrom(kinds).Draw(t, "kind "+strconv.Itoa(i)),
				d:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "duration "+strconv.Itoa(i))),
			})
		}

		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		canceledAt := time.Duration(-1)
		m := &machine{wall: t0}
		m.onTimer = func(m *machine, d time.Duration) bool {
			end := m.mono + d // when the timer is due
			for len(script) > 0 {
				action := script[0]
				script = script[1:]
				switch action.kind {
				case "fire early":
					m.pass(min(action.d, end-m.mono))
					return true
				case "fire on time":
					m.pass(end - m.mono)
					return true
				case "fire late":
					m.pass(end - m.mono + action.d)
					return true
				case "step the wall clock":
					m.wall = m.wall.Add(30*time.Minute - action.d) // in either direction
				case "pass":
					m.pass(min(action.d, end-m.mono))
				case "cancel":
					cancel()
					canceledAt = m.mono
					return false
				}
			}
			m.pass(end - m.mono)
			return true
		}

		p, err := planAt(m.now(), fields("Retry-After", "30"), &Options{})
		if err != nil {
			t.Fatal(err)
		}
		deadline := m.mono + p.Wait
		m.pass(time.Duration(before))
		err = m.clock().waitFor(ctx, &p)
		switch {
		case err == nil && m.mono < deadline:
			t.Fatalf("returned nil %v before the deadline", deadline-m.mono)
		case canceledAt >= 0 && err != context.Canceled:
			t.Fatalf("canceled, and returned %v", err)
		case canceledAt < 0 && err != nil:
			t.Fatalf("not canceled, and returned %v", err)
		case canceledAt >= 0 && m.mono != canceledAt:
			t.Fatalf("waited %v after it was canceled", m.mono-canceledAt)
		case m.left() != 0:
			t.Fatalf("a timer is left")
		case time.Duration(before) >= p.Wait && len(m.armed) > 0:
			t.Fatalf("armed %v after the deadline", m.armed)
		}
	})
}

// TestInstant checks where the monotonic reading comes from. A time.Time outside
// the years 1885 to 2157 has none, as one that Round has stripped.
func TestInstant(t *testing.T) {
	start := time.Now()
	now := start.Add(time.Minute)
	for _, c := range []struct {
		name       string
		start, now time.Time
		want       time.Duration // the least
	}{
		{"both have a reading", start, now, time.Minute},
		{"the process began out of range", start.Round(0), now, 0},
		{"the process began and is out of range", start.Round(0), now.AddDate(300, 0, 0).Round(0), 0},
	} {
		if got, want := epochAt(c.start).instant(c.now), (instant{c.now, c.want}); got != want {
			t.Errorf("%s: %#v, want %#v", c.name, got, want)
		}
	}
	for _, years := range []int{300, -1000, 7000} {
		wall := now.AddDate(years, 0, 0).Round(0)
		before := time.Since(start)
		got := epochAt(start).instant(wall)
		if after := time.Since(start); got.wall != wall || got.mono < before || got.mono > after {
			t.Errorf("the wall clock is stepped by %d years: %#v, want mono from %v to %v", years, got, before, after)
		}
	}
}

// TestProcessOutOfRange waits in a process that began while the wall clock was out
// of range: the whole wait, counted from the call, even if the first timer is short.
func TestProcessOutOfRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		epoch := epochAt(time.Now().Round(0))
		opts := Options{Jitter: Jitter{Rand: noJitter}}
		plan, err := planAt(epoch.instant(time.Now()), fields("Retry-After", "30"), &opts)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		called := time.Now()
		if err := epoch.clock().waitFor(t.Context(), &plan); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(called); waited != 30*time.Second {
			t.Errorf("waited %v, want 30s", waited)
		}
	})
}

// TestDeadlineText checks a Deadline in logs and in JSON, from which it cannot be decoded.
func TestDeadlineText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wait := range []time.Duration{30 * time.Second, -time.Second / 2} {
			deadline := Deadline{mono: systemNow().mono + wait, set: true}
			text := time.Now().Add(wait).Format(time.RFC3339Nano)
			if got := deadline.String(); got != text {
				t.Errorf("String() = %q, want %q", got, text)
			}
			if got, err := json.Marshal(deadline); err != nil || string(got) != strconv.Quote(text) {
				t.Errorf("JSON is %s, %v, want %q", got, err, text)
			}
		}
	})
	if got := (Deadline{}).String(); got != "not set" {
		t.Errorf("String() of the zero Deadline = %q", got)
	}
	if got, err := json.Marshal(Deadline{}); err != nil || string(got) != `""` {
		t.Errorf("JSON of the zero Deadline is %s, %v", got, err)
	}
	for _, text := range []string{`""`, `"2026-08-04T12:00:30Z"`} {
		if err := json.Unmarshal([]byte(text), new(Deadline)); err == nil {
			t.Errorf("%s was decoded", text)
		}
	}
	far := instant{wall: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}
	if wall := (Deadline{mono: 48 * time.Hour, set: true}).wallAt(far); wall.Year() != 10000 {
		t.Errorf("two days after 31 Dec 9999 is %v", wall)
	}
}

func BenchmarkWaitFor(b *testing.B) {
	ctx := b.Context()
	passed, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Spread: 1}})
	if err != nil {
		b.Fatal(err)
	}
	versus(b, "passed", "time.Now", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	}, func(b *testing.B) {
		for b.Loop() {
			if err := WaitFor(ctx, passed); err != nil {
				b.Fatal(err)
			}
		}
	})
	versus(b, "waits", "time.NewTimer", func(b *testing.B) {
		for b.Loop() {
			<-time.NewTimer(10 * time.Microsecond).C
		}
	}, func(b *testing.B) {
		plan := passed
		for b.Loop() {
			plan.Deadline.mono = systemClock().now().mono + 10*time.Microsecond
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWaiters compares 100,000 goroutines in WaitFor with as many in time.Sleep, on
// real timers. Each group runs in a process of its own, because goroutines begin with as
// much stack as earlier ones needed. It reports the memory of a goroutine and how late
// the median one is.
func BenchmarkWaiters(b *testing.B) {
	const variable = "RETRYAFTER_WAITERS"
	if group := os.Getenv(variable); group != "" {
		benchmarkWaiters(b, group)
		return
	}
	figures := regexp.MustCompile(`(\S+) B/waiter\s+(\S+) us-late`)
	for b.Loop() {
		memory := map[string]float64{}
		for _, group := range []string{"Sleep", "WaitFor"} {
			cmd := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkWaiters$", "-test.benchtime=1x")
			cmd.Env = append(os.Environ(), variable+"="+group)
			out, err := cmd.CombinedOutput()
			match := figures.FindSubmatch(out)
			if err != nil || match == nil {
				b.Fatalf("%s: %v\n%s", group, err, out)
			}
			memory[group], _ = strconv.ParseFloat(string(match[1]), 64)
			late, _ := strconv.ParseFloat(string(match[2]), 64)
			b.ReportMetric(memory[group], group+"-B/waiter")
			b.ReportMetric(late, group+"-us-late")
		}
		b.ReportMetric(memory["WaitFor"]/memory["Sleep"], "memory-ratio")
	}
}

// benchmarkWaiters measures one group. It reports nothing if the first goroutines were
// done before the last one waited.
func benchmarkWaiters(b *testing.B, group string) {
	const waiters, wait = 100_000, 5 * time.Second
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	late := make([]time.Duration, waiters)
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse + m.StackInuse)
	}
	runtime.GC()
	before, begin := inUse(), time.Now()
	var started, done sync.WaitGroup
	started.Add(waiters)
	for i := range waiters {
		done.Go(func() {
			start := time.Now()
			started.Done()
			if group == "Sleep" {
				time.Sleep(wait)
			} else {
				mono := processStart.instant(start).mono
				p := RetryPlan{Wait: wait, Deadline: Deadline{mono: mono + wait, set: true}}
				if err := WaitFor(ctx, p); err != nil {
					b.Error(err)
				}
			}
			late[i] = time.Since(start) - wait
		})
	}
	started.Wait()
	memory := (inUse() - before) / waiters
	if time.Since(begin) > wait {
		b.Fatalf("it took %v to start all goroutines: increase the wait of %v", time.Since(begin), wait)
	}
	done.Wait()
	slices.Sort(late)
	if late[0] < 0 {
		b.Errorf("%v early", -late[0])
	}
	b.ReportMetric(memory, "B/waiter")
	b.ReportMetric(float64(late[waiters/2].Microseconds()), "us-late")
}
