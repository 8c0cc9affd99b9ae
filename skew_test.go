package retryafter

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

// naiveWait is the usual code: it subtracts the client's clock from the server's date.
func naiveWait(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(seconds) * time.Second
	}
	date, _ := http.ParseTime(value)
	return max(0, date.Sub(now))
}

// clientClocks are the clocks of clients, relative to the server's.
var clientClocks = []struct {
	name  string
	ahead time.Duration
}{
	{"10 years behind", -10 * aYear},
	{"1 day behind", -24 * time.Hour},
	{"1 hour behind", -time.Hour},
	{"40 s behind", -40 * sec},
	{"right", 0},
	{"40 s ahead", 40 * sec},
	{"1 hour ahead", time.Hour},
	{"1 day ahead", 24 * time.Hour},
	{"10 years ahead", 10 * aYear},
}

const skewTable = "%-16v %16v %8v %16v\n"

// TestSkew shows why this package exists: one response, read by clients whose clocks are
// wrong, and responses made within one second, read by clients whose clocks are right.
func TestSkew(t *testing.T) {
	header := fields("Retry-After", d30, "Date", d0)
	var table strings.Builder
	fmt.Fprintf(&table, "\nRetry-After: %s\nDate:        %s\n\n", d30, d0)
	fmt.Fprintf(&table, skewTable, "client's clock", "usual code waits", "floor", "skew reported")
	for _, c := range clientClocks {
		client := t0.Add(c.ahead)
		naive, wantNaive := naiveWait(header, client), max(0, 30*sec-c.ahead)
		p, err := planOn(client, header, Options{})
		fmt.Fprintf(&table, skewTable, c.name, naive, p.Floor, p.Skew)
		if naive != wantNaive {
			t.Errorf("%s: the usual code waits %v, want %v", c.name, naive, wantNaive)
		}
		if err != nil || p.Floor != 30*sec || p.Skew != c.ahead || !p.SkewKnown {
			t.Errorf("%s: Plan() = %#v, %v; want Floor 30s, Skew %v", c.name, p, err, c.ahead)
		}
	}
	// Asctime has no zone and means GMT, whatever the zone of the client is.
	kathmandu := time.FixedZone("", 20700)
	setLocal(t, kathmandu)
	asctime := fields("Retry-After", "Tue Aug  4 12:00:30 2026", "Date", d0)
	if p, err := planOn(t0.In(kathmandu), asctime, Options{}); err != nil || p.Floor != 30*sec || p.Skew != 0 {
		t.Errorf("asctime in %v: Plan() = %#v, %v; want Floor 30s, Skew 0", t0.In(kathmandu), p, err)
	}

	fmt.Fprintf(&table, "\nBoth clocks are right; the server rounds both dates down to whole seconds\n\n")
	fmt.Fprintf(&table, skewTable, "response made", "usual code waits", "floor", "")
	for _, c := range []struct{ fraction, naive time.Duration }{
		{0, 30 * sec},
		{250 * msec, 29750 * msec},
		{500 * msec, 29500 * msec},
		{750 * msec, 29250 * msec},
		{999 * msec, 29001 * msec},
	} {
		made := t0.Add(c.fraction)
		header := fields("Date", made.Format(http.TimeFormat),
			"Retry-After", made.Add(30*sec).Format(http.TimeFormat))
		naive := naiveWait(header, made)
		p, err := planOn(made, header, Options{})
		fmt.Fprintf(&table, skewTable, made.Format("15:04:05.000"), naive, p.Floor, "")
		if naive != c.naive || err != nil || p.Floor != 30*sec {
			t.Errorf("made at %v: the usual code waits %v, want %v; Plan() = %#v, %v; want Floor 30s",
				made, naive, c.naive, p, err)
		}
	}
	t.Log(table.String())
}

// TestSkewOverHTTP shows the same with real responses, from servers whose clocks differ from
// this machine's.
func TestSkewOverHTTP(t *testing.T) {
	var table strings.Builder
	fmt.Fprintf(&table, "\nThe usual code is up to 1 s early, because the server rounds its date down\n\n")
	fmt.Fprintf(&table, skewTable, "client's clock", "usual code waits", "floor", "skew reported")
	for _, c := range clientClocks {
		var made, date time.Time // when the response was made, by the client's and the server's clock
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			made = time.Now()
			date = made.Add(-c.ahead).UTC().Truncate(time.Second)
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
		naive := naiveWait(resp.Header, made)
		fmt.Fprintf(&table, skewTable, c.name, naive.Round(time.Second), p.Floor, p.Skew.Round(time.Second))
		if right := max(0, 30*sec-c.ahead); naive > right || naive < right-sec {
			t.Errorf("%s: the usual code waits %v, want %v or up to a second less", c.name, naive, right)
		}
		// The Skew is more than the difference of the clocks by the fraction of a second that
		// Date does not have, and by the time since the response was made.
		if most := time.Now().Round(0).Sub(date); err != nil || p.Floor != 30*sec ||
			p.Skew < c.ahead || p.Skew > most {
			t.Errorf("%s: Plan() = %#v, %v; want Floor 30s, Skew from %v to %v",
				c.name, p, err, c.ahead, most)
		}
	}
	t.Log(table.String())
}

// A machine is a fake clock and makes fake timers. Each new timer calls onTimer, which lets
// time pass and reports whether the timer fires. Everything runs in one goroutine.
type machine struct {
	wall    time.Time
	mono    time.Duration
	onTimer func(m *machine, d time.Duration) (fires bool)
	timers  []*time.Timer
}

func (m *machine) now() instant { return instant{wall: m.wall, mono: m.mono} }

func (m *machine) clock() clock {
	return clock{
		now: m.now,
		newTimer: func(d time.Duration) *time.Timer {
			// A timer that can be stopped, and a channel that only the machine sends to.
			timer, fired := time.NewTimer(math.MaxInt64), make(chan time.Time, 1)
			timer.C = fired
			m.timers = append(m.timers, timer)
			if m.onTimer(m, d) {
				timer.Stop()
				fired <- m.wall
			}
			return timer
		},
	}
}

// running returns the number of timers that have neither fired nor been stopped.
func (m *machine) running() int {
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

// onTime is the onTimer of timers that fire on time, and neverFires that of timers that do not.
func onTime(m *machine, d time.Duration) bool { m.pass(d); return true }
func neverFires(*machine, time.Duration) bool { return false }

// plan30 returns a plan of 30 s, made now.
func (m *machine) plan30() *RetryPlan {
	return &RetryPlan{Wait: 30 * sec, Deadline: Deadline{mono: m.mono + 30*sec, set: true}}
}

var (
	errCause = errors.New("the user left")
	errPeer  = fmt.Errorf("%w by the peer", context.Canceled)
)

// TestWaitFor makes a plan at the time 0 and calls WaitFor at a later time. It compares the result,
// and the time at which WaitFor returns, to the nanosecond.
func TestWaitFor(t *testing.T) {
	const (
		minute  = time.Minute
		never   = time.Duration(0)
		tooLong = "retryafter: the wait does not fit in the context's deadline: " +
			"queue the work or tell the caller "
	)
	for _, c := range []struct {
		name     string
		wait     time.Duration // the Wait of the plan; negative: a zero plan
		called   time.Duration
		expires  time.Duration // when the context expires
		canceled time.Duration // when the context is canceled
		cause    error         // of the expiration or the cancellation
		returned time.Duration
		want     error
		message  string
	}{
		{"a zero plan, even in a done context", -1, sec, never, 1, nil,
			sec, ErrZeroPlan, "retryafter: zero plan: check the error from Plan before waiting"},

		{"a passed plan in a canceled context", sec, 2 * sec, never, 1, nil,
			2 * sec, context.Canceled, "context canceled"},
		{"a context canceled with a cause", minute, sec, never, 1, errCause,
			sec, errCause, "context canceled: the user left"},
		{"a context canceled with a cause that is context.Canceled", minute, sec, never, 1, errPeer,
			sec, errPeer, "context canceled by the peer"},
		{"an expired context", minute, sec, 1, never, nil,
			sec, context.DeadlineExceeded, "context deadline exceeded"},
		{"an expired context with a cause", minute, sec, 1, never, errCause,
			sec, errCause, "context deadline exceeded: the user left"},

		{"a plan of 0", 0, 0, never, never, nil, 0, nil, ""},
		{"a passed plan", sec, minute, never, never, nil, minute, nil, ""},
		{"a plan that passes 1 ns before the context", sec, sec, sec + 1, never, nil, sec, nil, ""},

		{"a plan of 10 min in a context of 5 min", 10 * minute, 0, 5 * minute, never, errCause,
			0, ErrExceedsDeadline, tooLong + "(needed 10m0s, limit 5m0s)"},
		{"a context that expires 1 ns before the plan", 10 * minute, minute, 10*minute - 1, never, nil,
			minute, ErrExceedsDeadline, tooLong + "(needed 9m0s, limit 8m59.999999999s)"},
		{"a context that expires with the plan", 10 * minute, minute, 10 * minute, never, nil,
			minute, ErrExceedsDeadline, tooLong + "(needed 9m0s, limit 9m0s)"},

		{"a context that expires 1 ns after the plan", minute, 0, minute + 1, never, nil,
			minute, nil, ""},
		{"a wait that begins 1 ns before its end", minute, minute - 1, never, never, nil, minute, nil, ""},
		{"a context canceled during the wait", 5 * minute, 0, never, sec, nil,
			sec, context.Canceled, "context canceled"},
		{"a context canceled with a cause during the wait", 5 * minute, 0, never, sec, errCause,
			sec, errCause, "context canceled: the user left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				p, _ := Plan(fields("Retry-After", "0"),
					Options{MinWait: c.wait, Jitter: Jitter{Rand: noJitter}}) // a zero plan if c.wait is negative
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				if c.canceled != never {
					time.AfterFunc(c.canceled, func() { cancel(c.cause) })
				}
				if c.expires != never {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeoutCause(ctx, c.expires, c.cause)
					defer cancel()
				}
				time.Sleep(c.called)
				synctest.Wait() // for a context that ends now

				err := WaitFor(ctx, p)
				returned, ended := time.Since(start), ctx.Err()
				if returned != c.returned || !errors.Is(err, c.want) || err != nil && err.Error() != c.message {
					t.Errorf("WaitFor() = %v at %v; want %q at %v", err, returned, c.message, c.returned)
				}
				if ended != nil && c.want != ErrZeroPlan && !errors.Is(err, ended) {
					t.Errorf("WaitFor() = %v, which is not %v", err, ended)
				}
				var limit *LimitError
				if errors.As(err, &limit) != (c.want == ErrExceedsDeadline) {
					t.Errorf("WaitFor() = %#v; want a LimitError only for ErrExceedsDeadline", err)
				} else if limit != nil {
					want := LimitError{p, c.expires - c.called, ErrExceedsDeadline, c.wait - c.called}
					if *limit != want || !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("WaitFor() = %#v, want %#v, a context.DeadlineExceeded", *limit, want)
					}
				}
			})
		})
	}
	plan := RetryPlan{Wait: sec, Floor: sec} // made by hand
	if err := WaitFor(t.Context(), plan); err != ErrZeroPlan {
		t.Errorf("WaitFor(%#v) = %v, want ErrZeroPlan", plan, err)
	}
}

// A wallContext has a deadline without a monotonic reading, like one from a database.
type wallContext struct {
	context.Context
	deadline time.Time
}

func (c wallContext) Deadline() (time.Time, bool) { return c.deadline, true }

// TestWallClockContext waits for a plan of 30 s in a context that expires after a minute on the
// wall clock, which is stepped between the plan and the wait.
func TestWallClockContext(t *testing.T) {
	const fits = time.Duration(-1)
	for _, c := range []struct {
		late, step time.Duration // from the plan to the wait
		limit      time.Duration // of the LimitError, or fits
	}{
		{0, -time.Hour, fits},
		{0, 30*sec - 1, fits},          // the context expires 1 ns after the plan
		{0, 30 * sec, 30 * sec},        // it expires with the plan
		{10 * sec, 30 * sec, 20 * sec}, // it expires with the plan
		{10 * sec, time.Hour, 0},       // it has expired, but is not done yet
		{30 * sec, time.Hour, fits},    // it has expired, but the plan has passed too
	} {
		m := &machine{wall: t0, onTimer: onTime}
		p := m.plan30()
		m.pass(c.late)
		m.wall = m.wall.Add(c.step)
		err := m.clock().waitFor(wallContext{t.Context(), t0.Add(time.Minute)}, p)
		limit := &LimitError{Limit: fits}
		errors.As(err, &limit)
		if limit.Limit != c.limit || c.limit == fits && (err != nil || m.mono != max(30*sec, c.late)) {
			t.Errorf("%+v: WaitFor() = %v at %v; want nil after the plan, or a LimitError", c, err, m.mono)
		}
	}
}

// A brokenContext is done. Its Err is nil, or of a type that cannot be compared.
type brokenContext struct {
	context.Context
	err error
}

func (c brokenContext) Err() error          { return c.err }
func (brokenContext) Done() <-chan struct{} { c := make(chan struct{}); close(c); return c }

type incomparable []string

func (e incomparable) Error() string { return e[0] }

func TestBrokenContexts(t *testing.T) {
	for want, err := range map[string]error{"context canceled": nil, "broken": incomparable{"broken"}} {
		ctx, m := brokenContext{context.Background(), err}, &machine{onTimer: neverFires}
		if got := m.clock().waitFor(ctx, m.plan30()); !strings.HasPrefix(fmt.Sprint(got), want) {
			t.Errorf("WaitFor() = %v if ctx.Err() is %#v, want %s", got, err, want)
		}
	}
}

// wallClockWait waits until a wall time, which it compares with the wall clock every 10 s.
func wallClockWait(m *machine, until time.Time) {
	for m.wall.Before(until) {
		m.onTimer(m, min(until.Sub(m.wall), 10*sec))
	}
}

// TestSteppedClock steps or slews the wall clock during a wait of 30 s.
func TestSteppedClock(t *testing.T) {
	var table strings.Builder
	const row = "%-28v %24v %10v\n"
	fmt.Fprintf(&table, "\n"+row, "wall clock, during 30 s", "wall-clock deadline", "WaitFor")
	for _, c := range []struct {
		name  string
		step  time.Duration // after 10 s
		ppm   int64         // the speed of the wall clock: parts per million too fast
		naive time.Duration // the wait until the wall-clock deadline
	}{
		{"not stepped", 0, 0, 30 * sec},
		{"stepped 1 hour ahead", time.Hour, 0, 10 * sec},
		{"stepped 1 hour back", -time.Hour, 0, time.Hour + 30*sec},
		{"stepped 1 year ahead", aYear, 0, 10 * sec},
		{"stepped 1 year back", -aYear, 0, aYear + 30*sec},
		// NTP slews a clock by at most 500 ppm, which is 5 ms in 10 s. After 20 s the fast clock
		// is 10 ms ahead, so that the last timer is set to 9.99 s. After 30 s the slow clock is
		// 15 ms behind; during these 15 ms it falls behind by 7.5 us more, and so on.
		{"slewed 500 ppm fast", 0, 500, 29990 * msec},
		{"slewed 500 ppm slow", 0, -500, 30*sec + 15*msec + 7503},
	} {
		tick := func(m *machine, d time.Duration) bool {
			m.pass(d)
			m.wall = m.wall.Add(d * time.Duration(c.ppm) / 1e6)
			if m.mono == 10*sec {
				m.wall = m.wall.Add(c.step)
			}
			return true
		}
		m := &machine{wall: t0, onTimer: tick}
		wallClockWait(m, t0.Add(30*time.Second))
		naive := m.mono

		m = &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			for ; d > 10*sec; d -= 10 * sec { // one timer, during which the clock is stepped
				tick(m, 10*sec)
			}
			return tick(m, d)
		}}
		err := m.clock().waitFor(t.Context(), m.plan30())
		fmt.Fprintf(&table, row, c.name, naive, m.mono)
		if naive != c.naive || err != nil || m.mono != 30*sec {
			t.Errorf("%s: the wall-clock deadline takes %v, want %v; WaitFor() = %v at %v, want nil at 30s",
				c.name, naive, c.naive, err, m.mono)
		}
	}
	t.Log(table.String())
}

// TestTimersThatMisfire waits for a plan of 30 s with timers that fire too early or too late.
func TestTimersThatMisfire(t *testing.T) {
	var table strings.Builder
	const row = "%-36v %16v %16v %7v\n"
	fmt.Fprintf(&table, "\n"+row, "the timer fires", "time.Sleep", "WaitFor", "timers")
	for _, c := range []struct {
		name    string
		percent time.Duration // of its time after which a timer fires
		late    time.Duration // and how much later than that
		times   int           // the number of timers that do so; the others are on time
		waitFor time.Duration
		timers  int
	}{
		{"on time", 100, 0, 1, 30 * sec, 1},
		{"1 ns early, once", 100, -1, 1, 30 * sec, 2},
		{"after half of the time, ten times", 50, 0, 10, 30 * sec, 11},
		{"at once, a thousand times", 0, 0, 1000, 30 * sec, 1001},
		{"1 ns late", 100, 1, 1, 30*sec + 1, 1},
		{"1 hour late", 100, time.Hour, 1, time.Hour + 30*sec, 1},
	} {
		fires := func(d time.Duration) time.Duration { return d*c.percent/100 + c.late }
		m := &machine{wall: t0, onTimer: func(m *machine, d time.Duration) bool {
			if len(m.timers) > c.times {
				return onTime(m, d)
			}
			return onTime(m, fires(d))
		}}
		err := m.clock().waitFor(t.Context(), m.plan30())
		sleep := fires(30 * sec) // time.Sleep uses a single timer
		fmt.Fprintf(&table, row, c.name, sleep, m.mono, len(m.timers))
		if err != nil || m.mono != c.waitFor || len(m.timers) != c.timers || m.running() != 0 {
			t.Errorf("%s: WaitFor() = %v at %v after %d timers, want nil at %v after %d; %d timers still run",
				c.name, err, m.mono, len(m.timers), c.waitFor, c.timers, m.running())
		}
	}
	t.Log(table.String())
}

// TestWaitForInvariants lets a random sequence of events happen during a wait. WaitFor returns
// nil only after the deadline. When the context is canceled, it returns at once. It leaves no
// timer.
func TestWaitForInvariants(t *testing.T) {
	events := []string{"fire early", "fire on time", "fire late", "step", "pass", "cancel"}
	rapid.Check(t, func(t *rapid.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		canceled := time.Duration(-1) // when the context is canceled
		left := rapid.IntRange(0, 20).Draw(t, "events")
		m := &machine{wall: t0}
		m.onTimer = func(m *machine, d time.Duration) bool {
			end := m.mono + d
			for ; left > 0; left-- {
				event := rapid.SampledFrom(events).Draw(t, "event")
				d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "duration"))
				switch event {
				case "fire early":
					m.pass(min(d, end-m.mono))
					left--
					return true
				case "fire on time":
					left = 0
				case "fire late":
					m.pass(end - m.mono + d)
					return true
				case "step": // the wall clock, in either direction
					m.wall = m.wall.Add(30*time.Minute - d)
				case "pass":
					m.pass(min(d, end-m.mono))
				case "cancel":
					cancel()
					canceled = m.mono
					return false
				}
			}
			m.pass(end - m.mono)
			return true
		}

		plan := m.plan30()
		late := time.Duration(rapid.Int64Range(0, int64(40*sec)).Draw(t, "from the plan to the wait"))
		m.pass(late)
		err, running := m.clock().waitFor(ctx, plan), m.running()
		switch {
		case canceled < 0 && (err != nil || m.mono < 30*sec):
			t.Fatalf("WaitFor() = %v at %v, want nil at 30s or later", err, m.mono)
		case canceled >= 0 && (err != context.Canceled || m.mono != canceled):
			t.Fatalf("WaitFor() = %v at %v, want context.Canceled at %v", err, m.mono, canceled)
		case running != 0 || late >= 30*sec && len(m.timers) > 0:
			t.Fatalf("WaitFor made %d timers, and %d of them still run", len(m.timers), running)
		}
	})
}

// stepped returns the time that time.Now would return d after now if the wall clock had been
// stepped back by d meanwhile: only its monotonic reading is later. Package time has no
// function for that.
func stepped(t *testing.T, now time.Time, d time.Duration) time.Time {
	later := now
	(*struct {
		wall uint64
		mono int64
		loc  *time.Location
	})(unsafe.Pointer(&later)).mono += int64(d)
	if later.Sub(now) != d || !later.Round(0).Equal(now.Round(0)) {
		t.Skip("this version of Go stores a time.Time differently")
	}
	return later
}

// TestSteppedTimes steps the wall clock between times of this process. Only their monotonic
// readings count.
func TestSteppedTimes(t *testing.T) {
	now := systemNow()
	p, err := planAt(now, fields("Retry-After", "30"), &Options{
		RequestSentAt:      stepped(t, now.wall, -10*sec-200*msec),
		ResponseReceivedAt: stepped(t, now.wall, -10*sec),
		Jitter:             Jitter{Rand: noJitter},
	})
	if want := now.mono + 19800*msec; err != nil || p.Age != 200*msec || p.Deadline.mono != want {
		t.Fatalf("Plan() = %#v, %v; want an Age of 200ms and a Deadline at %d", p, err, want)
	}
	// By its monotonic reading this context ends in 10 s, and by its wall time in an hour.
	end := stepped(t, now.wall.Add(time.Hour), 10*sec-time.Hour)
	if err := WaitFor(wallContext{t.Context(), end}, p); !errors.Is(err, ErrExceedsDeadline) {
		t.Errorf("WaitFor() = %v, want ErrExceedsDeadline", err)
	}
}

// TestReadings derives the monotonic reading of an instant from a start of the process and a
// result of time.Now.
func TestReadings(t *testing.T) {
	start := time.Now()
	later := stepped(t, start, 5*sec)
	if got, want := epochAt(start).instant(later), (instant{later, 5 * sec}); got != want {
		t.Errorf("both have a monotonic reading: got %v, want %v", got, want)
	}
	// The wall clock has been stepped out of the range in which there is a reading. The
	// monotonic clock has run on.
	far := start.Round(0).Add(200 * aYear)
	least := time.Since(start)
	got := epochAt(start).instant(far)
	if most := time.Since(start); got.wall != far || got.mono < least || got.mono > most {
		t.Errorf("only the start has a monotonic reading: got %v, want %v to %v", got, least, most)
	}
	if got, want := epochAt(t0).instant(later), (instant{later, 0}); got != want {
		t.Errorf("the start has no monotonic reading: got %v, want %v", got, want)
	}
	if !processStart.monotonic || !hasMonotonic(systemNow().wall) {
		t.Error("this process does not use its monotonic readings")
	}
}

// TestTimerClock waits twice in a process whose start has no monotonic reading. A round trip of
// 2 s and a receipt 5 s ago are ignored, and each wait lasts 30 s from the call of WaitFor.
func TestTimerClock(t *testing.T) {
	start := processStart
	t.Cleanup(func() { processStart = start })
	synctest.Test(t, func(t *testing.T) { // in a bubble, time.Now has no monotonic reading
		processStart = epochAt(time.Now())
		plan, err := Plan(fields("Retry-After", "30"), Options{
			RequestSentAt:      time.Now().Add(-7 * sec),
			ResponseReceivedAt: time.Now().Add(-5 * sec),
			Jitter:             Jitter{Rand: noJitter},
		})
		if left := plan.Deadline.Remaining(); err != nil || plan.Wait != 30*sec || left != 30*sec {
			t.Fatalf("Plan() = %#v, %v; %v remain, want a Wait of 30s and 30s", plan, err, left)
		}
		for range 2 {
			time.Sleep(10 * sec)
			start := time.Now()
			err := WaitFor(t.Context(), plan)
			if took := time.Since(start); err != nil || took != 30*sec {
				t.Errorf("WaitFor() = %v after %v, want nil after 30s", err, took)
			}
		}
	})
}

// TestDeadline steps the wall clock by an hour. A deadline at 0 of the monotonic clock is set
// like any other.
func TestDeadline(t *testing.T) {
	m := &machine{wall: t0, mono: -30 * sec}
	d := m.plan30().Deadline
	m.pass(10 * sec)
	m.wall = m.wall.Add(time.Hour)
	left, wall := d.remainingAt(m.now()), d.wallAt(m.now())
	if want := t0.Add(time.Hour + 30*sec); d.IsZero() || left != 20*sec || wall != want {
		t.Errorf("%#v: %v remain, until %v; want 20s, until %v", d, left, wall, want)
	}
	d.mono = systemNow().mono
	if wall := d.EstimatedWall(); hasMonotonic(wall) {
		t.Errorf("EstimatedWall() = %v, want no monotonic reading", wall)
	}

	d = Deadline{}
	left, wall = d.Remaining(), d.EstimatedWall()
	if text, err := d.MarshalText(); !d.IsZero() || left != 0 || !wall.IsZero() ||
		d.String() != "not set" || string(text) != "" || err != nil {
		t.Errorf("%#v: %v remain, until %v; String() = %q, MarshalText() = %q, %v; want not set",
			d, left, wall, d, text, err)
	}
}

// TestDeadlineText writes a deadline 2.5 s after it has passed, in the zone of this machine.
func TestDeadlineText(t *testing.T) {
	setLocal(t, time.FixedZone("", 20700))
	synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at 2000-01-01T00:00:00Z
		d := Deadline{mono: systemNow().mono + 30200*msec, set: true}
		time.Sleep(32700 * msec)
		const want = "2000-01-01T05:45:30.2+05:45"
		text, err := d.MarshalText()
		if d.Remaining() != -2500*msec || d.String() != want || string(text) != want || err != nil {
			t.Errorf("Remaining() = %v, String() = %s, MarshalText() = %s, %v; want -2.5s and %s",
				d.Remaining(), d, text, err, want)
		}
		// In this zone the year has five digits.
		eightThousandYears := int64(8000 * 31557600)
		setLocal(t, time.FixedZone("", int(eightThousandYears)))
		if text, err := d.MarshalText(); err == nil {
			t.Errorf("MarshalText() = %s, want an error", text)
		}
	})
}

func BenchmarkWaitFor(b *testing.B) {
	ctx := b.Context()
	plan, err := Plan(fields("Retry-After", "0"), Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		b.Fatal(err)
	}
	versus(b, "passed", "time.Now", benchmarkNow, func(b *testing.B) {
		for b.Loop() {
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
	versus(b, "waits", "time.NewTimer", func(b *testing.B) {
		for b.Loop() {
			<-time.NewTimer(10 * time.Microsecond).C
		}
	}, func(b *testing.B) {
		plan := plan
		for b.Loop() {
			plan.Deadline.mono = systemNow().mono + 10*time.Microsecond
			if err := WaitFor(ctx, plan); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkWaiters compares the memory of 100,000 goroutines in WaitFor with that of as many
// in time.Sleep. Each group has a process of its own, because later goroutines of a process
// start with as much stack as earlier ones needed.
func BenchmarkWaiters(b *testing.B) {
	const variable = "RETRYAFTER_TEST_WAITERS"
	if group := os.Getenv(variable); group != "" {
		fmt.Println("bytes:", bytesPerWaiter(b, group == "WaitFor"))
		return
	}
	for b.Loop() {
		bytes := map[string]float64{}
		for _, group := range []string{"Sleep", "WaitFor"} {
			command := exec.Command(os.Args[0], "-test.run=^$", "-test.bench=^BenchmarkWaiters$",
				"-test.benchtime=1x")
			command.Env = append(os.Environ(), variable+"="+group)
			output, err := command.CombinedOutput()
			if errors.Is(err, errors.ErrUnsupported) {
				b.Skip(err) // js/wasm
			}
			_, result, _ := strings.Cut(string(output), "bytes: ")
			var n float64
			if fmt.Sscan(result, &n); err != nil || n == 0 {
				b.Fatalf("%s: %v: %s", group, err, output)
			}
			b.ReportMetric(n, group+"-B/waiter")
			bytes[group] = n
		}
		b.ReportMetric(bytes["WaitFor"]/bytes["Sleep"], "memory-ratio")
	}
}

// bytesPerWaiter returns the bytes that one of 100,000 waiting goroutines needs.
func bytesPerWaiter(b *testing.B, waitFor bool) float64 {
	const waiters, wait = 100_000, 3 * time.Second
	inUse := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse + m.StackInuse)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var started, waiting sync.WaitGroup
	var ended atomic.Bool // a wait has ended
	started.Add(waiters)
	before := inUse()
	for range waiters {
		waiting.Go(func() {
			plan := RetryPlan{Deadline: Deadline{mono: systemNow().mono + wait, set: true}}
			started.Done()
			if !waitFor {
				time.Sleep(wait)
			} else if err := WaitFor(ctx, plan); err != nil {
				b.Error(err)
			}
			ended.Store(true)
		})
	}
	started.Wait()
	time.Sleep(wait / 6) // until the last ones wait
	bytes := (inUse() - before) / waiters
	if ended.Load() {
		b.Fatal("a wait ended before the memory was measured: this machine is too slow")
	}
	waiting.Wait()
	return bytes
}
