package retryafter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const clients = 5000

// A strategy waits after a response, in the goroutine of one client. It runs in a synctest
// bubble, where the clock is exact.
type strategy struct {
	name string
	wait func(ctx context.Context, client, attempt int, header http.Header) error
}

// strategies returns the strategies that are compared. All clients draw from one generator
// with a fixed seed, so every figure below is the same in each run.
func strategies() (exact, full, symmetric, random, keyed strategy) {
	var mu sync.Mutex
	generator := rand.New(rand.NewPCG(1, 2))
	draw := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return generator.Float64()
	}
	usual := func(name string, share func() float64) strategy {
		return strategy{name, func(_ context.Context, _, _ int, header http.Header) error {
			time.Sleep(time.Duration(share() * float64(naiveWait(header, time.Now()))))
			return nil
		}}
	}
	planned := func(name string, jitter func(client int) Jitter) strategy {
		return strategy{name, func(ctx context.Context, client, attempt int, header http.Header) error {
			p, err := Plan(header, Options{Attempt: attempt, Jitter: jitter(client)})
			return errors.Join(err, WaitFor(ctx, p))
		}}
	}
	exact = usual("exact wait", func() float64 { return 1 })
	full = usual("full jitter", draw)
	symmetric = usual("jitter of ±25 %", func() float64 { return 0.75 + draw()/2 })
	random = planned("above the floor, random", func(int) Jitter { return Jitter{Rand: draw} })
	keyed = planned("above the floor, by key", func(client int) Jitter {
		return Jitter{Key: "client-" + strconv.Itoa(client)}
	})
	return exact, full, symmetric, random, keyed
}

// An arrival is a request at the server.
type arrival struct {
	attempt int
	at      time.Duration // since the first request of all
	early   bool          // less than 30s after this client's previous request
}

// simulate lets every client send requests until it is served, and returns the requests
// in order of time. serve decides whether the server serves a request or answers 429 with
// Retry-After: 30. It is called for one request at a time.
func simulate(t *testing.T, s strategy, serve func(at time.Duration, attempt int) bool) []arrival {
	var mu sync.Mutex
	var arrivals []arrival
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		request := func(a arrival) (served bool) {
			mu.Lock()
			defer mu.Unlock()
			arrivals = append(arrivals, a)
			return serve(a.at, a.attempt)
		}
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				// The first requests are 100 ns apart, so that their order, and with it every
				// figure, does not depend on the scheduler.
				time.Sleep(time.Duration(client) * 100)
				a := arrival{attempt: 1, at: time.Since(start)}
				for !request(a) {
					if err := s.wait(t.Context(), client, a.attempt, fields("Retry-After", "30")); err != nil {
						t.Error(err)
					}
					now := time.Since(start)
					a = arrival{attempt: a.attempt + 1, at: now, early: now-a.at < 30*time.Second}
				}
			})
		}
		wg.Wait()
	})
	slices.SortFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	return arrivals
}

// ofAttempt returns the arrivals of one attempt.
func ofAttempt(arrivals []arrival, attempt int) []arrival {
	return slices.DeleteFunc(slices.Clone(arrivals), func(a arrival) bool { return a.attempt != attempt })
}

// busiest returns the number of arrivals in the busiest interval of the given width.
func busiest(arrivals []arrival, width time.Duration) int {
	most, counts := 0, map[time.Duration]int{}
	for _, a := range arrivals {
		counts[a.at/width]++
		most = max(most, counts[a.at/width])
	}
	return most
}

// histogram draws the arrivals of the first 38 s, half a second in each column.
func histogram(arrivals []arrival) string {
	var counts [76]int
	for _, a := range arrivals {
		counts[a.at/(500*time.Millisecond)]++
	}
	most := slices.Max(counts[:])
	var line strings.Builder
	for _, n := range counts {
		line.WriteRune([]rune("·▁▂▃▄▅▆▇█")[(n*8+most-1)/most])
	}
	return line.String()
}

// TestHerd rejects the first requests of 5,000 clients at the same time, and shows when
// each strategy lets them return.
func TestHerd(t *testing.T) {
	exact, full, symmetric, random, keyed := strategies()
	var report strings.Builder
	fmt.Fprintf(&report, "\n5,000 clients got one 429 with Retry-After: 30 each.\n"+
		"One column per half second; the highest column of each line is █.\n")
	for _, c := range []struct {
		strategy
		early, millisecond, tenth int // requests before the floor; in the busiest 1 ms and 100 ms
	}{
		{exact, 0, 5000, 5000},
		// A draw from 0 to 30 s is always early. In each of 300 tenths of a second 16.7
		// requests are expected, with a standard deviation of 4.1.
		{full, 5000, 4, 28},
		// A draw from 22.5 to 37.5 s is early for half of the clients: 2,500 are expected,
		// with a standard deviation of 35, and in each of 150 tenths of a second 33.3 ± 5.8.
		{symmetric, 2492, 4, 51},
		// No draw from 30 to 37.5 s is early. In each of 75 tenths of a second 66.7 ± 8.2
		// are expected.
		{random, 0, 5, 84},
		{keyed, 0, 5, 92},
	} {
		second := func(_ time.Duration, attempt int) bool { return attempt == 2 }
		arrivals := ofAttempt(simulate(t, c.strategy, second), 2)
		early := 0
		for _, a := range arrivals {
			if a.early {
				early++
			}
		}
		millisecond, tenth := busiest(arrivals, time.Millisecond), busiest(arrivals, 100*time.Millisecond)
		fmt.Fprintf(&report, "\n%-26s before the floor: %5d   busiest 1 ms: %5d   100 ms: %5d\n%s\n",
			c.name, early, millisecond, tenth, histogram(arrivals))
		if len(arrivals) != clients || early != c.early || millisecond != c.millisecond || tenth != c.tenth {
			t.Errorf("%s: %d clients, %d before the floor, %d in 1 ms, %d in 100 ms; want %d, %d, %d, %d", c.name,
				len(arrivals), early, millisecond, tenth, clients, c.early, c.millisecond, c.tenth)
		}
	}
	fmt.Fprintf(&report, "%-20s%-20s%-20s%s\n", "0 s", "10 s", "20 s", "30 s = the floor")
	t.Log(report.String())
}

// TestHerdRounds has a server serve the first 100 requests of each second, and answer the
// others with Retry-After: 30, until all clients are served.
func TestHerdRounds(t *testing.T) {
	exact, _, _, random, keyed := strategies()
	var report strings.Builder
	fmt.Fprintf(&report, "\n5,000 clients, 100 served in a second, Retry-After: 30 to the others\n\n")
	fmt.Fprintf(&report, "%-26s %6s %9s   %s\n", "", "rounds", "requests", "busiest 100 ms of rounds 1 to 6")
	for _, c := range []struct {
		strategy
		rounds, requests int
	}{
		// Each round serves 100 clients: 5,000 + 4,900 + ... + 100 requests.
		{exact, 50, 127500},
		// Round n is 7.5 s x (n-1) wide, and so serves at most 100 x (7.5 x (n-1) + 1): 100,
		// 850, 1,600 and 2,350 in four rounds, which is 4,900. So five rounds and 5,000 +
		// 4,900 + 4,050 + 2,450 + 100 = 16,500 requests are the least possible.
		{random, 6, 18333},
		{keyed, 6, 18441},
	} {
		served := map[time.Duration]int{}
		arrivals := simulate(t, c.strategy, func(at time.Duration, _ int) bool {
			served[at/time.Second]++
			return served[at/time.Second] <= 100
		})
		var tenths []int // the requests in the busiest 100 ms of each round
		for round := ofAttempt(arrivals, 1); len(round) > 0; round = ofAttempt(arrivals, len(tenths)+1) {
			tenths = append(tenths, busiest(round, 100*time.Millisecond))
		}
		rounds := len(tenths)
		fmt.Fprintf(&report, "%-26s %6d %9d   %v\n", c.name, rounds, len(arrivals), tenths[:min(rounds, 6)])
		if rounds != c.rounds || len(arrivals) != c.requests {
			t.Errorf("%s: %d rounds, %d requests; want %d, %d", c.name, rounds, len(arrivals), c.rounds, c.requests)
		}
	}
	t.Log(report.String())
}

// TestNoDrawIsEarly makes 100,000 plans above a floor of 1 s with the default jitter. No
// wait is below the floor, and the waits are evenly distributed: a tenth of them is
// expected in each tenth of the window. By the Chernoff bound, the number in one tenth
// is off by 800 with a probability below 10^-14, so this test fails by chance less than
// once in 10^12 runs.
func TestNoDrawIsEarly(t *testing.T) {
	var tenths [10]int
	for range 100_000 {
		p, err := Plan(fields("Retry-After", "1"), Options{})
		if err != nil || p.Wait < time.Second || p.Wait >= 1250*time.Millisecond {
			t.Fatalf("Plan() = %#v, %v; want a Wait from 1s to 1.25s", p, err)
		}
		tenths[p.Jitter/(25*time.Millisecond)]++
	}
	if slices.Min(tenths[:]) < 9200 || slices.Max(tenths[:]) > 10800 {
		t.Errorf("draws in each tenth of the window: %v, want 9200 to 10800", tenths)
	}
}

// TestKeyPlace compares the places of keys with numbers computed in Python. In a window of
// 2^53 ns the jitter is all 53 bits of the place:
//
//	digest = hashlib.sha256(struct.pack(">Q", attempt) + key.encode()).digest()
//	bits = int.from_bytes(digest[:8], "big") >> 11
func TestKeyPlace(t *testing.T) {
	maxInt := map[int]time.Duration{32: 5923040122673810, 64: 154534625082341} // by the size of an int
	for _, c := range []struct {
		key     string
		attempt int
		bits    time.Duration
	}{
		{"client-7", 0, 292683577609730},
		{"client-7", 1, 3742426456290643},
		{"client-7", 2, 8402428563198768},
		{"a", 0, 7599624311884297},
		{"éè", 5, 2724750939143355},
		{strings.Repeat("x", 500), math.MaxInt32, 8878154229040741},
		{"client-7", math.MaxInt, maxInt[strconv.IntSize]},
	} {
		opts := Options{MinWait: 1, Attempt: c.attempt, Jitter: Jitter{Key: c.key, Spread: 1 << 53}}
		if p, err := Plan(nil, opts); err != nil || p.Jitter != c.bits {
			t.Errorf("key %.10q, attempt %d: Plan() = %#v, %v; want Jitter %d", c.key, c.attempt, p, err, c.bits)
		}
	}
}

// TestProcessesDrawDifferently compares the first draws of two other processes: clients
// whose generators start with the same seed would return together.
func TestProcessesDrawDifferently(t *testing.T) {
	if os.Getenv("RETRYAFTER_TEST_DRAW") != "" {
		p, err := Plan(nil, Options{MinWait: 1, Jitter: Jitter{Spread: aYear}})
		fmt.Println("jitter:", int64(p.Jitter), err)
		return
	}
	var draws [2]string
	for i := range draws {
		command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		command.Env = append(os.Environ(), "RETRYAFTER_TEST_DRAW=1")
		output, err := command.CombinedOutput()
		if errors.Is(err, errors.ErrUnsupported) { // js/wasm
			t.Skip(err)
		}
		if _, err := fmt.Sscanf(string(output), "jitter: %s <nil>", &draws[i]); err != nil {
			t.Fatalf("%v; the output of the other process is %s", err, output)
		}
	}
	if draws[0] == draws[1] {
		t.Errorf("two processes both draw %s", draws[0])
	}
}

// TestWindow draws the lower and the upper end of the window above a wait.
func TestWindow(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	for _, c := range []struct {
		base, spread, maxWait time.Duration // MinWait above a floor of 0, Jitter.Spread, MaxWait
		want                  time.Duration // Spread of the plan
		err                   error
	}{
		// A quarter of the wait, from 250ms to 30s.
		{s, 0, 0, 250 * ms, nil},
		{s + 4, 0, 0, 250*ms + 1, nil},
		{120*s - 4, 0, 0, 30*s - 1, nil},
		{120 * s, 0, 0, 30 * s, nil},
		// Spread, if set. The float64 of 50 years - 1 ns is 50 years.
		{30 * s, 1, 0, 1, nil},
		{30 * s, 50*aYear - 1, 0, 50*aYear - 1, nil},
		{30 * s, 50 * aYear, 0, 50 * aYear, nil},
		// Cut to end at MaxWait, but not to less than 250ms, or Spread if that is less.
		{30 * s, 0, math.MaxInt64, 7500 * ms, nil},
		{30 * s, 0, 37500 * ms, 7500 * ms, nil},
		{30 * s, 0, 37500*ms - 1, 7500*ms - 1, nil},
		{30 * s, 0, 30250*ms - 1, 7500 * ms, ErrExceedsMaxWait},
		{30 * s, 10 * s, 35 * s, 5 * s, nil},
		{30 * s, 100 * ms, 30100 * ms, 100 * ms, nil},
		{30 * s, 100 * ms, 30100*ms - 1, 100 * ms, ErrExceedsMaxWait},
	} {
		for place, rand := range []func() float64{noJitter, fullJitter} {
			jitter := time.Duration(place) * c.want
			opts := Options{MinWait: c.base, MaxWait: c.maxWait, Jitter: Jitter{Spread: c.spread, Rand: rand}}
			p, err := planOn(t0, fields("Retry-After", "0"), opts)
			if limit := new(LimitError); errors.As(err, &limit) {
				p = limit.Plan
			}
			if !errors.Is(err, c.err) || p.Spread != c.want || p.Jitter != jitter || p.Wait != c.base+jitter {
				t.Errorf("%+v, Rand returns %d: Plan() = %#v, %v; want Spread %v, Jitter %v, Wait %v",
					c, place, p, err, c.want, jitter, c.base+jitter)
			}
		}
	}
}

// TestRand has Rand return numbers inside and outside [0, 1], for a window of 3 ns. A number
// outside is an error even if the wait does not fit in MaxWait.
func TestRand(t *testing.T) {
	plan := func(place float64, maxWait time.Duration) (RetryPlan, error) {
		jitter := Jitter{Spread: 3, Rand: func() float64 { return place }}
		return Plan(nil, Options{MinWait: 30, MaxWait: maxWait, Jitter: jitter})
	}
	for _, c := range []struct {
		place float64
		want  time.Duration
	}{{0, 0}, {math.Copysign(0, -1), 0}, {0.5, 1}, {math.Nextafter(1, 0), 2}, {1, 3}} {
		if p, err := plan(c.place, 0); err != nil || p.Jitter != c.want {
			t.Errorf("Rand returns %v: Plan() = %#v, %v; want Jitter %d", c.place, p, err, c.want)
		}
	}
	below, above := math.Nextafter(0, -1), math.Nextafter(1, 2)
	for _, place := range []float64{below, above, math.NaN(), math.Inf(1), math.Inf(-1)} {
		want := fmt.Sprintf("retryafter: invalid options: Jitter.Rand returned %v, which is not in [0, 1]", place)
		for _, maxWait := range []time.Duration{0, 1} {
			p, err := plan(place, maxWait)
			if fmt.Sprint(err) != want || !errors.Is(err, ErrInvalidOptions) || p != (RetryPlan{}) {
				t.Errorf("Rand returns %v, MaxWait is %d: Plan() = %#v, %v; want %s", place, maxWait, p, err, want)
			}
		}
	}
}

// TestRandIsCalledLast counts the calls of Rand: one for a plan, even for one that does not
// fit in MaxWait, and none if there is any other error.
func TestRandIsCalledLast(t *testing.T) {
	for _, c := range []struct {
		header http.Header
		opts   Options
		calls  int
	}{
		{nil, Options{MinWait: 1}, 1},
		{fields("Retry-After", "30"), Options{MaxWait: 1}, 1},
		{nil, Options{}, 0},
		{fields("Retry-After", "soon"), Options{}, 0},
		{fields("Retry-After", d30), Options{}, 0},
		{fields("Retry-After", "30"), Options{MaxWait: -1}, 0},
		{fields("Retry-After", "30"), Options{RequestSentAt: t0}, 0},
	} {
		calls := 0
		c.opts.Jitter.Rand = func() float64 { calls++; return 0 }
		if _, err := planOn(t0, c.header, c.opts); calls != c.calls {
			t.Errorf("Plan(%v, %+v), error %v: Rand was called %d times, want %d", c.header, c.opts, err, calls, c.calls)
		}
	}
}
