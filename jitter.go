package retryafter

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// A Jitter spreads out clients that were refused together. It adds to
// the wait and never subtracts. The zero Jitter adds a random time, up to a quarter
// of the wait (but see Spread for short and long waits).
//
// With a Key, the place of a client in the window is a number from 0 to 1 that is the
// same on every machine and in every release of this package:
//
//	hash   = SHA-256(Attempt as 8 bytes, big-endian, then the bytes of Key)
//	place  = (the first 8 bytes of hash, big-endian, shifted right by 11 bits) / 2^53
//	jitter = min(trunc(place * width), width)
//
// The width of the window and the jitter are in nanoseconds, and the product is in
// IEEE 754 double precision.
type Jitter struct {
	// Key is a unique, stable name of this client, such as its host name. If one
	// process has many jobs that wait, use the name of the job. The same Key and
	// Attempt give the same place in the window; another Attempt gives another place.
	// If Key is empty, Rand draws the place. Key and Rand are mutually exclusive.
	Key string

	// Rand returns a number in [0, 1], the place in the window. Plan calls it at
	// most once. It must be safe for concurrent use if Plan is called concurrently.
	// For tests, return 0 to turn jitter off. If nil, math/rand/v2 is used.
	Rand func() float64

	// Spread is the width of the window, up to 50 years. If 0, it is a quarter of
	// the wait that the jitter is added to, but at least 250ms and at most 30s.
	//
	// That is too narrow for many clients with a short wait: 5,000 clients in 250ms
	// are 20,000 requests per second. Set Spread to at least the number of clients
	// divided by the requests per second that the server accepts.
	Spread time.Duration
}

const (
	minSpread = 250 * time.Millisecond // narrower windows would not spread the clients
	maxSpread = 30 * time.Second       // wider ones would delay more than they help
)

// window returns the width of the window above base. needed is the shortest maxWait
// that leaves a window of minSpread, or of Spread if that is less. If maxWait is at
// least needed, the window is cut to end there; if not, there is no limit (0), or
// Plan returns a LimitError whose plan has the whole window. Neither result depends
// on the random draw.
func (j *Jitter) window(base, maxWait time.Duration) (spread, needed time.Duration) {
	spread = j.Spread
	if spread == 0 {
		spread = min(max(base/4, minSpread), maxSpread)
	}
	needed = base + min(spread, minSpread)
	if maxWait >= needed {
		spread = min(spread, maxWait-base)
	}
	return spread, needed
}

// draw returns this client's jitter, between 0 and spread.
func (j *Jitter) draw(attempt int, spread time.Duration) (time.Duration, error) {
	place := 0.0
	switch {
	case j.Key != "":
		place = hashPlace(j.Key, attempt)
	case j.Rand != nil:
		place = j.Rand()
	default:
		place = rand.Float64()
	}
	if !(place >= 0 && place <= 1) { // also rejects NaN
		return 0, invalid("Jitter.Rand returned %v, which is not in [0, 1]", place)
	}
	// A spread of more than 2^53 ns may be rounded up when it becomes a float64.
	return min(time.Duration(place*float64(spread)), spread), nil
}

// hashPlace implements the formula documented at Jitter.
func hashPlace(key string, attempt int) float64 {
	var buf [128]byte // on the stack; a longer key allocates
	data := binary.BigEndian.AppendUint64(buf[:0], uint64(attempt))
	sum := sha256.Sum256(append(data, key...))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
