package retryafter

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	clients = 5000

	// apart is the time between the first requests of two clients: so short that
	// all 5,000 come in half a millisecond, and long enough that their order, and
	// with it every figure below, does not depend on the scheduler.
	apart = 100 * time.Nanosecond
)

// A way is a way of waiting after a 429 with Retry-After: 30. It waits in the
// goroutine of one client, in a bubble where the clock is exact.
type way struct {
	name string
	wait func(t *testing.T, client, attempt int, header http.Header)
}

// ways returns the ways of waiting, with one source of chance for all clients.
func ways() (exact, full, symmetric, random, keyed way) {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(1, 2))
	draw := func() float64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Float64()
	}
	sleep := func(share func() float64) func(*testing.T, int, int, http.Header) {
		return func(t *testing.T, client, attempt int, header http.Header) {
			time.Sleep(time.Duration(share() * float64(naiveWait(header, time.Now()))))
		}
	}
	planned := func(jitter func(client int) Jitter) func(*testing.T, int, int, http.Header) {
		return func(t *testing.T, client, attempt int, header http.Header) {
			p, err := Plan(header, Options{Attempt: attempt, Jitter: jitter(client)})
			if err != nil {
				t.Error(err)
			}
			if err := WaitFor(t.Context(), p); err != nil {
				t.Error(err)
			}
		}
	}
	exact = way{"exact wait", sleep(func() float64 { return 1 })}
	full = way{"full jitter", sleep(draw)}
	symmetric = way{"jitter of ±25 %", sleep(func() float64 { return 0.75 + draw()/2 })}
	random = way{"from the floor, by chance", planned(func(int) Jitter { return Jitter{Rand: draw} })}
	keyed = way{"from the floor, by key", planned(func(client int) Jitter { return Jitter{Key: clientKey(client)} })}
	return exact, full, symmetric, random, keyed
}

func clientKey(client int) string { return "client-" + strconv.Itoa(client) }

// An arrival is a request at the server.
type arrival struct {
	client, attempt int
	at              time.Duration // since the first of all
	early           bool          // before the floor of the refusal that it follows
}

// simulate sends every client to a limiter until it is served, and returns the
// requests in their order. The limiter serves a request, or refuses it with
// Retry-After: 30; it is given the time, and called by one client at a time.
func simulate(t *testing.T, w way, serve func(at time.Duration, attempt int) bool) []arrival {
	var mu sync.Mutex
	var arrivals []arrival
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		request := func(a arrival) bool {
			mu.Lock()
			defer mu.Unlock()
			arrivals = append(arrivals, a)
			return serve(a.at, a.attempt)
		}
		var wg sync.WaitGroup
		for client := range clients {
			wg.Go(func() {
				time.Sleep(time.Duration(client) * apart)
				a := arrival{client: client, attempt: 1, at: time.Since(start)}
				for !request(a) {
					w.wait(t, client, a.attempt, http.Header{"Retry-After": {"30"}})
					now := time.Since(start)
					a = arrival{client: client, attempt: a.attempt + 1, at: now, early: now-a.at < 30*time.Second}
				}
			})
		}
		wg.Wait()
	})
	slices.SortFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	for i, a := range arrivals[1:] {
		if a.at == arrivals[i].at {
			t.Fatalf("two arrivals at %v: their order, and the figures, are up to the scheduler", a.at)
		}
	}
	return arrivals
}

// only returns the arrivals of one attempt.
func only(arrivals []arrival, attempt int) []arrival {
	return slices.DeleteFunc(slices.Clone(arrivals), func(a arrival) bool { return a.attempt != attempt })
}

// busiest returns the most arrivals in any of the intervals of a width.
func busiest(arrivals []arrival, width time.Duration) int {
	most, counts := 0, map[time.Duration]int{}
	for _, a := range arrivals {
		counts[a.at/width]++
		most = max(most, counts[a.at/width])
	}
	return most
}

// histogram draws the arrivals of the first 38 s, in columns of half a second.
func histogram(arrivals []arrival) string {
	var counts [76]int
	for _, a := range arrivals {
		counts[a.at/(500*time.Millisecond)]++
	}
	most := slices.Max(counts[:])
	var line strings.Builder
	for _, n := range counts {
		bars := []rune("·▁▂▃▄▅▆▇█")
		line.WriteRune(bars[(n*8+most-1)/most])
	}
	return line.String()
}

// TestHerd refuses 5,000 clients at once, and counts how they come back.
func TestHerd(t *testing.T) {
	exact, full, symmetric, random, keyed := ways()
	var report strings.Builder
	fmt.Fprintf(&report, "\n5,000 clients, one 429 with Retry-After: 30 each; arrivals in the 38 s after, ½ s a column\n")
	for _, c := range []struct {
		way
		early, millisecond, tenth int
	}{
		// All of them in the half millisecond that they first came in.
		{exact, 0, 5000, 5000},
		// The other figures are pinned to the one source of chance. By hand they have to
		// be near: nothing of a uniform draw over 30 s is left after 30 s. 5,000 over
		// 300 tenths of a second are 16.7 in each, with a standard deviation of 4.1,
		// and three of these more in the busiest.
		{full, 5000, 4, 28},
		// Half of them: 2,500, with a standard deviation of 35. In the 150 tenths from
		// 22.5 to 37.5 s 33.3 each, and three times 5.8 more.
		{symmetric, 2492, 4, 51},
		// None. In the 75 tenths from 30 to 37.5 s 66.7 each, and three times 8.2 more.
		{random, 0, 5, 84},
		{keyed, 0, 5, 92},
	} {
		arrivals := only(simulate(t, c.way, func(_ time.Duration, attempt int) bool { return attempt == 2 }), 2)
		if len(arrivals) != clients {
			t.Fatalf("%s: %d clients came back", c.name, len(arrivals))
		}
		early := 0
		for _, a := range arrivals {
			if a.early {
				early++
			}
		}
		millisecond, tenth := busiest(arrivals, time.Millisecond), busiest(arrivals, 100*time.Millisecond)
		fmt.Fprintf(&report, "\n%-26s before the floor: %5d   busiest 1 ms: %5d   100 ms: %5d\n%s\n",
			c.name, early, millisecond, tenth, histogram(arrivals))
		if early != c.early || millisecond != c.millisecond || tenth != c.tenth {
			t.Errorf("%s: %d before the floor, %d in a millisecond, %d in a tenth of a second; want %d, %d, %d",
				c.name, early, millisecond, tenth, c.early, c.millisecond, c.tenth)
		}
	}
	const axis = "0 s                 10 s                20 s                30 s the floor"
	fmt.Fprintf(&report, "%s\n", axis)
	t.Log(report.String())
}

// TestHerdRounds has a limiter serve the first 100 of each second, and refuse the
// rest with Retry-After: 30, until all are served.
func TestHerdRounds(t *testing.T) {
	exact, _, _, random, keyed := ways()
	var report strings.Builder
	fmt.Fprintf(&report, "\n5,000 clients, 100 served a second, Retry-After: 30 for the rest\n\n")
	fmt.Fprintf(&report, "%-26s %6s %9s   %s\n", "way of waiting", "rounds", "requests", "busiest 100 ms of each round")
	for _, c := range []struct {
		way
		rounds, requests int
	}{
		// 100 fewer each round: 5,000 + 4,900 + ... + 100 = 100 x (50 x 51) / 2.
		{exact, 50, 127500},
		// Round n is 7.5 s x (n-1) wide, and a second more serves 100 of it: at most
		// 100, 850, 1,600 and 2,350 in four rounds, which are 4,900. So it takes five
		// at least, and 5,000 + 4,900 + 4,050 + 2,450 + 100 = 16,500 requests; more,
		// since the edges of a round are thin.
		{random, 6, 18333},
		{keyed, 6, 18441},
	} {
		served := map[time.Duration]int{}
		arrivals := simulate(t, c.way, func(at time.Duration, _ int) bool {
			served[at/time.Second]++
			return served[at/time.Second] <= 100
		})
		rounds := slices.MaxFunc(arrivals, func(a, b arrival) int { return cmp.Compare(a.attempt, b.attempt) }).attempt
		var peaks []string
		for round := range min(rounds, 7) {
			peaks = append(peaks, strconv.Itoa(busiest(only(arrivals, round+1), 100*time.Millisecond)))
		}
		if rounds > 7 {
			peaks = append(peaks, "...")
		}
		fmt.Fprintf(&report, "%-26s %6d %9d   %s\n", c.name, rounds, len(arrivals), strings.Join(peaks, " "))
		if rounds != c.rounds || len(arrivals) != c.requests {
			t.Errorf("%s: %d rounds and %d requests, want %d and %d", c.name, rounds, len(arrivals), c.rounds, c.requests)
		}
	}
	t.Log(report.String())
}

// places returns the place of every client in one attempt.
func places(attempt int) []float64 {
	p := make([]float64, clients)
	for client := range p {
		p[client] = hashPlace(clientKey(client), attempt)
	}
	return p
}

// TestKeyPlace has values of the formula that were computed elsewhere, in Python:
//
//	digest = hashlib.sha256(struct.pack(">Q", attempt) + key.encode()).digest()
//	place = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
//	jitter = int(place * 7.5e9)
func TestKeyPlace(t *testing.T) {
	for _, c := range []struct {
		key     string
		attempt int
		n       int64 // the top 53 bits
		jitter  time.Duration
	}{
		{"client-7", 0, 292683577609730, 243708035},
		{"client-7", 1, 3742426456290643, 3116196014},
		{"client-7", 2, 8402428563198768, 6996427240},
		{"client-8", 1, 4477945736516081, 3728638844},
		{"a", 0, 7599624311884297, 6327958417},
		{"éè", 5, 2724750939143355, 2268810921},
		{strings.Repeat("x", 500), math.MaxInt32, 8878154229040741, 7392548430},
	} {
		if got, want := hashPlace(c.key, c.attempt), float64(c.n)/(1<<53); got != want {
			t.Errorf("%.10q, attempt %d: place %v, want %v", c.key, c.attempt, got, want)
		}
		opts := Options{Attempt: c.attempt, Jitter: Jitter{Key: c.key}}
		for range 2 { // asked again within a round, a client keeps its place
			if p, err := Plan(fields("Retry-After", "30"), opts); err != nil || p.Jitter != c.jitter {
				t.Errorf("%.10q, attempt %d: jitter %v, %v, want %v", c.key, c.attempt, p.Jitter, err, c.jitter)
			}
		}
	}
}

// TestKeyPlaceOfLargeAttempt has an Attempt that needs all of its 8 bytes.
func TestKeyPlaceOfLargeAttempt(t *testing.T) {
	if strconv.IntSize < 64 {
		t.Skip("an int has 4 bytes here")
	}
	if got, want := hashPlace("client-7", math.MaxInt), float64(154534625082341)/(1<<53); got != want {
		t.Errorf("place %v, want %v", got, want)
	}
}

// TestKeysAreEven puts the places of each of ten rounds into 100 bins of 50 in
// the mean, by hand, and has chi-square below what 99.9 % of fair ones stay
// below, with 99 degrees of freedom.
func TestKeysAreEven(t *testing.T) {
	for round := range 10 {
		var bins [100]float64
		for _, place := range places(round + 1) {
			bins[int(place*100)]++
		}
		chiSquare := 0.0
		for _, n := range bins {
			chiSquare += (n - 50) * (n - 50) / 50
		}
		t.Logf("round %2d: chi-square %.1f", round+1, chiSquare)
		if chiSquare >= 148.23 {
			t.Errorf("round %d: chi-square %.2f, want less than 148.23", round+1, chiSquare)
		}
	}
}

// TestNeighboursPart follows the hundred closest pairs of round one into round
// two, where they are as any two clients are: a third of the window apart in the
// mean, by hand, for that is the mean of |x-y| over a square. Its standard
// deviation is 1/sqrt(18), so that of a hundred is 0.0236; four of these are allowed.
func TestNeighboursPart(t *testing.T) {
	one, two := places(1), places(2)
	order := make([]int, clients)
	for client := range order {
		order[client] = client
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(one[a], one[b]) })
	pairs := make([][2]int, clients-1)
	for i := range pairs {
		pairs[i] = [2]int{order[i], order[i+1]}
	}
	distance := func(p []float64, pair [2]int) float64 { return math.Abs(p[pair[0]] - p[pair[1]]) }
	slices.SortFunc(pairs, func(a, b [2]int) int { return cmp.Compare(distance(one, a), distance(one, b)) })

	before, after := 0.0, 0.0
	for _, pair := range pairs[:100] {
		before += distance(one, pair) / 100
		after += distance(two, pair) / 100
	}
	t.Logf("the hundred closest pairs: %.2g of the window apart in round one, %.3f in round two", before, after)
	if math.Abs(after-1./3) > 4*0.0236 {
		t.Errorf("%.4f of the window apart in round two, want a third", after)
	}
}
