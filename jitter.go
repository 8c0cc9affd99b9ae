package retryafter

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"time"
)

// A Jitter spreads clients that a server refused at the same time over a window
// that begins at the floor: it adds to the wait and never takes from it. The zero
// Jitter draws a place at random in a window of a quarter of the wait.
//
// With a Key the place is the same on every machine and in every release of
// this package: the first 8 bytes, big-endian, of SHA-256 over the Attempt (8
// bytes, big-endian) followed by the bytes of Key; of these the top 53 bits,
// divided by 2^53. The jitter is that place times the width of the window in
// nanoseconds, in IEEE 754 double precision, truncated to an integer, and at most
// the width.
type Jitter struct {
	// Key is a stable identity of this client, different from every other
	// client's. It keeps its place when it asks again within one Attempt, and has
	// another place in the next. Empty: the place is drawn by Rand. Key and Rand
	// exclude each other.
	Key string

	// Rand is the source of a place from 0 to 1, both included. Plan calls it once,
	// or not at all; it must be safe for concurrent use if Plan is used so. One that
	// returns 0 turns the jitter off, for a test. Nil: math/rand/v2.
	Rand func() float64

	// Spread is the width of the window, up to 50 years. 0: a quarter of the wait
	// that the jitter is added to, but at least 250ms and at most 30s.
	Spread time.Duration
}

const (
	minSpread = 250 * time.Millisecond // narrower, and a short wait keeps the herd together
	maxSpread = 30 * time.Second       // wider, and a long wait costs more than the herd does
)

// window returns the width of the window above base. With a maxWait it is cut to
// end there. If so little would be left that the herd is back, it is not cut, and
// the error is ErrExceedsMaxWait. Neither depends on a draw.
func (j *Jitter) window(base, maxWait time.Duration) (time.Duration, error) {
	spread := j.Spread
	if spread == 0 {
		spread = min(max(base/4, minSpread), maxSpread)
	}
	if maxWait == 0 {
		return spread, nil
	}
	least := min(spread, minSpread)
	if base+least > maxWait {
		return spread, &limitError{err: ErrExceedsMaxWait, least: base + least, limit: maxWait}
	}
	return min(spread, maxWait-base), nil
}

// draw returns what to add to a wait: this client's place in a window as wide
// as spread.
func (j *Jitter) draw(attempt int, spread time.Duration) (time.Duration, error) {
	place := 0.0
	switch {
	case j.Key != "":
		place = keyPlace(j.Key, attempt)
	case j.Rand != nil:
		place = j.Rand()
	default:
		place = rand.Float64()
	}
	if !(place >= 0 && place <= 1) { // written so that NaN is refused as well
		return 0, invalid("Jitter.Rand returned %v, which is not in [0, 1]", place)
	}
	// A spread of more than 2^53 ns may be rounded up on its way to a float64.
	return min(time.Duration(place*float64(spread)), spread), nil
}

// keyPlace is the formula in the comment of Jitter.
func keyPlace(key string, attempt int) float64 {
	var buf [128]byte // on the stack; a longer key allocates
	data := binary.BigEndian.AppendUint64(buf[:0], uint64(attempt))
	sum := sha256.Sum256(append(data, key...))
	return float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
}
