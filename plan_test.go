package retryafter

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

const (
	d0  = "Tue, 04 Aug 2026 12:00:00 GMT"
	d30 = "Tue, 04 Aug 2026 12:00:30 GMT"

	sec, msec = time.Second, time.Millisecond // short names for the tables
	aYear     = 8766 * time.Hour              // 365.25 days
)

// t0 is the instant of d0.
var t0 = time.Date(2026, 8, 4, 12, 0, 0, 0, time.UTC)

func noJitter() float64   { return 0 } // a Jitter.Rand that draws the start of the window
func fullJitter() float64 { return 1 } // a Jitter.Rand that draws the end of the window

// fields returns a header of names and values. It does not canonicalize the names.
func fields(pairs ...string) http.Header {
	header := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		header[pairs[i]] = append(header[pairs[i]], pairs[i+1])
	}
	return header
}

func ptr[T any](v T) *T { return &v }

// planOn is Plan on a client whose wall clock reads the given time and whose process began
// an hour ago.
func planOn(wall time.Time, header http.Header, opts Options) (RetryPlan, error) {
	return planAt(instant{wall: wall, mono: time.Hour}, header, &opts)
}

// diff returns the fields in which two structs of the same type differ.
func diff(got, want any) string {
	g, w := reflect.ValueOf(got), reflect.ValueOf(want)
	var lines []string
	for i := range g.NumField() {
		if g.Field(i).Equal(w.Field(i)) {
			continue
		}
		format := "%s is %v, want %v"
		if g.Field(i).Kind() == reflect.Struct { // a Deadline prints as an estimated time
			format = "%s is %#v, want %#v"
		}
		lines = append(lines, fmt.Sprintf(format, g.Type().Field(i).Name, g.Field(i), w.Field(i)))
	}
	return strings.Join(lines, "; ")
}

// Plans of several cases: delay30 is for "Retry-After: 30" without Date, and date30 for the
// date d30 with the Date d0.
var (
	delay30 = RetryPlan{
		Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
		Source: DelaySeconds, Instructed: 30 * sec,
	}
	date30 = RetryPlan{
		Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
		Source: HTTPDate, Instructed: 30 * sec, SkewKnown: true,
	}
)

// planCases are headers and options, and the plan or the error of each on a client whose
// clock reads t0. With ErrExceedsMaxWait, want is the plan in the LimitError. Without a
// Jitter.Rand, the jitter is zero. The Deadline of a plan follows from its Wait.
var planCases = []struct {
	name   string
	header http.Header
	opts   Options
	want   RetryPlan
	err    error
}{
	// The wait that the server asks for.
	{name: "30 s as delay-seconds",
		header: fields("Retry-After", "30", "Date", d0),
		want: RetryPlan{Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, SkewKnown: true}},
	{name: "30 s as an HTTP-date", header: fields("Retry-After", d30, "Date", d0), want: date30},
	{name: "30 s as obsolete forms of HTTP-date",
		header: fields("Retry-After", "Tuesday, 04-Aug-26 12:00:30 GMT",
			"Date", "Tue Aug  4 12:00:00 2026"), want: date30},
	{name: "a delay of 0 is a floor of 0",
		header: fields("Retry-After", "0"),
		want:   RetryPlan{Spread: 250 * msec, Source: DelaySeconds}},
	{name: "a date equal to Date is a floor of 0, not clamped",
		header: fields("Retry-After", d0, "Date", d0),
		want:   RetryPlan{Spread: 250 * msec, Source: HTTPDate, SkewKnown: true}},
	{name: "a date one second before Date is clamped to 0",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0),
		want: RetryPlan{Spread: 250 * msec, Source: HTTPDate, Instructed: -sec,
			SkewKnown: true, ClampedToZero: true}},
	{name: "a date two seconds before Date is ErrBeforeDate", err: ErrBeforeDate,
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:58 GMT", "Date", d0)},
	{name: "a date 7,973 years before Date is ErrBeforeDate", err: ErrBeforeDate,
		header: fields("Retry-After", d0, "Date", "Fri, 31 Dec 9999 23:59:59 GMT")},
	{name: "a date 50 years of 365.25 days after Date",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT", "Date", d0),
		want: RetryPlan{Wait: 50 * aYear, Floor: 50 * aYear, Spread: 30 * sec,
			Source: HTTPDate, Instructed: 50 * aYear, SkewKnown: true}},
	{name: "a date 50 years and one second after Date is ErrTooFarAhead", err: ErrTooFarAhead,
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT", "Date", d0)},
	{name: "a date 7,973 years after Date is ErrTooFarAhead", err: ErrTooFarAhead,
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", d0)},
	{name: "a fraction is ErrDelaySyntax, even with MinWait", err: ErrDelaySyntax,
		header: fields("Retry-After", "2.0"), opts: Options{MinWait: 8 * sec}},

	// The age of the response. Other values of the Age field are in TestAgeField.
	{name: "Age is subtracted from an HTTP-date",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		want: RetryPlan{Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec, Source: HTTPDate,
			Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true}},
	{name: "Age is subtracted from a delay",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		want: RetryPlan{Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec, Source: DelaySeconds,
			Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true}},
	{name: "an Age equal to the delay is a floor of 0, not clamped",
		header: fields("Retry-After", "30", "Age", "30"),
		want:   RetryPlan{Spread: 250 * msec, Source: DelaySeconds, Instructed: 30 * sec, Age: 30 * sec}},
	{name: "an Age one second more than the delay is clamped to 0",
		header: fields("Retry-After", "30", "Age", "31"),
		want: RetryPlan{Spread: 250 * msec, Source: DelaySeconds, Instructed: 30 * sec, Age: 31 * sec,
			ClampedToZero: true}},
	{name: "Options.Age of 5 s replaces the Age field and the round trip, but not in Skew",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(5 * sec), RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{Wait: 25 * sec, Floor: 25 * sec, Spread: 6250 * msec, Source: HTTPDate,
			Instructed: 30 * sec, Age: 5 * sec, Skew: -20200 * msec, SkewKnown: true}},
	{name: "Options.Age of 0 makes a delay count from receipt, whatever the round trip",
		header: fields("Retry-After", "30", "Age", "20"),
		opts:   Options{Age: ptr(0 * sec), RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want:   delay30},
	{name: "the round trip counts as age",
		header: fields("Retry-After", "30"),
		opts:   Options{RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{Wait: 29800 * msec, Floor: 29800 * msec, Spread: 7450 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 200 * msec}},
	{name: "the round trip and the Age field are added",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{Wait: 9800 * msec, Floor: 9800 * msec, Spread: 2450 * msec, Source: HTTPDate,
			Instructed: 30 * sec, Age: 20200 * msec, Skew: -20200 * msec, SkewKnown: true}},
	{name: "the wait and Skew count from a receipt 5 s ago",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-5 * sec), ResponseReceivedAt: t0.Add(-5 * sec)},
		want: RetryPlan{Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Skew: -5 * sec, SkewKnown: true}},

	// A missing Date. A malformed one is in TestDateField.
	{name: "a date without Date is ErrMissingDate", err: ErrMissingDate,
		header: fields("Retry-After", d30)},
	{name: "a date with a Date of no lines is ErrMissingDate", err: ErrMissingDate,
		header: http.Header{"Retry-After": {d30}, "Date": {}}},
	{name: "TrustClientClock counts from the client's clock and ignores every age",
		header: fields("Retry-After", d30, "Age", "20"),
		opts: Options{OnMissingDate: TrustClientClock, Age: ptr(10 * sec),
			RequestSentAt: t0.Add(-sec), ResponseReceivedAt: t0},
		want: RetryPlan{Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, TrustedClientClock: true}},
	{name: "TrustClientClock counts from receipt, to the nanosecond",
		header: fields("Retry-After", d30),
		opts: Options{OnMissingDate: TrustClientClock,
			RequestSentAt: t0.Add(-4), ResponseReceivedAt: t0.Add(-4)},
		want: RetryPlan{Wait: 30*sec + 4, Floor: 30*sec + 4, Spread: 7500*msec + 1,
			Source: HTTPDate, Instructed: 30*sec + 4, TrustedClientClock: true}},
	{name: "TrustClientClock clamps a date that passed an hour ago to 0",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{Spread: 250 * msec, Source: HTTPDate, Instructed: -time.Hour,
			ClampedToZero: true, TrustedClientClock: true}},
	{name: "TrustClientClock clamps a date that passed 2,026 years ago to 0",
		header: fields("Retry-After", "Sat, 01 Jan 0000 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{Spread: 250 * msec, Source: HTTPDate, Instructed: math.MinInt64,
			ClampedToZero: true, TrustedClientClock: true}},
	{name: "TrustClientClock with a date exactly 50 years ahead",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{Wait: 50 * aYear, Floor: 50 * aYear, Spread: 30 * sec,
			Source: HTTPDate, Instructed: 50 * aYear, TrustedClientClock: true}},
	{name: "TrustClientClock with a date 50 years and 1 ns ahead is ErrTooFarAhead", err: ErrTooFarAhead,
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT"),
		opts: Options{OnMissingDate: TrustClientClock,
			RequestSentAt: t0.Add(-1), ResponseReceivedAt: t0.Add(-1)}},
	{name: "TrustClientClock changes nothing if there is a Date",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{OnMissingDate: TrustClientClock}, want: date30},
	{name: "TrustClientClock changes nothing for a delay",
		header: fields("Retry-After", "30"),
		opts:   Options{OnMissingDate: TrustClientClock}, want: delay30},
	{name: "TrustClientClock does not accept a malformed Date",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock}, err: ErrDateSyntax},

	// Field lines and the names of the fields.
	{name: "no header is ErrNoRetryAfter", err: ErrNoRetryAfter},
	{name: "no Retry-After is ErrNoRetryAfter", err: ErrNoRetryAfter,
		header: fields("Date", d0, "Age", "20")},
	{name: "no lines are ErrNoRetryAfter", err: ErrNoRetryAfter,
		header: http.Header{"Retry-After": {}, "retry-after": nil}},
	// The letter U+0155 is not equal to r, in any folding of case.
	{name: "similar names are ErrNoRetryAfter", err: ErrNoRetryAfter,
		header: fields("Retry_After", "30", "X-Retry-After", "30", "Retry-Afte\u0155", "30")},
	{name: "an empty line is ErrEmpty", header: fields("Retry-After", ""), err: ErrEmpty},
	{name: "two equal lines are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("Retry-After", "7", "Retry-After", "7")},
	{name: "an empty line and a good one are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("Retry-After", "", "Retry-After", "120")},
	{name: "two lines that would be a date if joined are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("Retry-After", "Tue", "Retry-After", "04 Aug 2026 12:00:30 GMT", "Date", d0)},
	{name: "names in lower case",
		header: fields("retry-after", d30, "date", d0, "age", "20"),
		want: RetryPlan{Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec, Source: HTTPDate,
			Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true}},
	{name: "names in mixed case beside a canonical Retry-After",
		header: fields("Retry-After", d30, "dATE", d0, "AGE", "10"),
		want: RetryPlan{Wait: 20 * sec, Floor: 20 * sec, Spread: 5 * sec, Source: HTTPDate,
			Instructed: 30 * sec, Age: 10 * sec, Skew: -10 * sec, SkewKnown: true}},
	{name: "a name in lower case beside a canonical Date",
		header: fields("retry-after", d30, "Date", d0), want: date30},
	{name: "a canonical Retry-After and Date hide all other spellings", want: date30,
		header: fields("Retry-After", d30, "Date", d0, "retry-after", "60", "date", d30, "age", "20")},
	{name: "two spellings of Retry-After, and no Date, are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("Retry-After", "5", "retry-after", "9")},
	{name: "two spellings of Retry-After, none canonical, are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("retry-after", "30", "RETRY-AFTER", "30")},
	{name: "two spellings of Date are ErrMultipleValues", err: ErrMultipleValues,
		header: fields("retry-after", d30, "date", d0, "DATE", d0)},
	{name: "of several spellings of Age the lowest valid one counts",
		header: fields("retry-after", "30", "Age", "", "age", "20", "AGE", "10, 7", "aGE", "-1"),
		want: RetryPlan{Wait: 20 * sec, Floor: 20 * sec, Spread: 5 * sec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 10 * sec}},
	{name: "the lowest Age may be 0", header: fields("retry-after", "30", "age", "20", "AGE", "0"), want: delay30},
	{name: "spellings without lines do not count", want: delay30,
		header: http.Header{"retry-after": {"30"}, "RETRY-AFTER": {}, "Retry-After": nil, "age": {}}},

	// The caller's own backoff.
	{name: "MinWait of 8 s above a delay of 0",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * sec, Jitter: Jitter{Rand: fullJitter}},
		want:   RetryPlan{Wait: 10 * sec, Jitter: 2 * sec, Spread: 2 * sec, Source: DelaySeconds}},
	{name: "MinWait below the floor changes nothing",
		header: fields("Retry-After", "30"), opts: Options{MinWait: 8 * sec}, want: delay30},
	{name: "MinWait of 8 s without Retry-After",
		header: fields("Date", d0, "Age", "20"),
		opts:   Options{MinWait: 8 * sec, Age: ptr(5 * sec)},
		want:   RetryPlan{Wait: 8 * sec, Spread: 2 * sec, Skew: -20 * sec, SkewKnown: true}},
	{name: "MinWait of 20 s without a header, and MaxWait of 10 s, are ErrExceedsMaxWait",
		opts: Options{MinWait: 20 * sec, MaxWait: 10 * sec}, err: ErrExceedsMaxWait,
		want: RetryPlan{Wait: 20 * sec, Spread: 5 * sec}},

	// Jitter and MaxWait. Other widths of the window are in TestWindow.
	{name: "full jitter is a quarter of the floor",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{Wait: 37500 * msec, Floor: 30 * sec, Jitter: 7500 * msec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec}},
	{name: "the longest floor, MinWait and Spread do not overflow",
		header: fields("Retry-After", "1577880000"),
		opts: Options{MinWait: 50 * aYear, MaxWait: math.MaxInt64,
			Jitter: Jitter{Spread: 50 * aYear, Rand: fullJitter}},
		want: RetryPlan{Wait: 100 * aYear, Floor: 50 * aYear, Jitter: 50 * aYear, Spread: 50 * aYear,
			Source: DelaySeconds, Instructed: 50 * aYear}},
	{name: "an hour and MaxWait of 10 s are ErrExceedsMaxWait",
		header: fields("Retry-After", "3600"), opts: Options{MaxWait: 10 * sec}, err: ErrExceedsMaxWait,
		want: RetryPlan{Wait: time.Hour, Floor: time.Hour, Spread: 30 * sec,
			Source: DelaySeconds, Instructed: time.Hour}},
	{name: "30 s and MaxWait of 30 s are ErrExceedsMaxWait", err: ErrExceedsMaxWait,
		header: fields("Retry-After", "30"), opts: Options{MaxWait: 30 * sec}, want: delay30},
	{name: "30 s and MaxWait of 30.25 s leave a window of 250 ms",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250 * msec, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{Wait: 30250 * msec, Floor: 30 * sec, Jitter: 250 * msec, Spread: 250 * msec,
			Source: DelaySeconds, Instructed: 30 * sec}},
	{name: "MinWait above MaxWait is ErrExceedsMaxWait", err: ErrExceedsMaxWait,
		header: fields("Retry-After", "0"), opts: Options{MinWait: 8 * sec, MaxWait: 5 * sec},
		want: RetryPlan{Wait: 8 * sec, Spread: 2 * sec, Source: DelaySeconds}},
	{name: "the deadline in a LimitError counts from a receipt 5 s ago", err: ErrExceedsMaxWait,
		header: fields("Retry-After", "30"), want: delay30,
		opts: Options{MaxWait: 1, RequestSentAt: t0.Add(-5 * sec), ResponseReceivedAt: t0.Add(-5 * sec)}},

	// The order of two errors. TestInvalidOptions shows that ErrInvalidOptions is the first.
	{name: "a malformed Retry-After comes before a malformed Date", err: ErrDateSyntax,
		header: fields("Retry-After", "soon", "Date", " ")},
	{name: "two lines of Retry-After come before a malformed Date", err: ErrMultipleValues,
		header: fields("Retry-After", d0, "Retry-After", d30, "Date", "120")},
	{name: "a malformed Date comes before MaxWait", err: ErrDateSyntax,
		header: fields("Retry-After", d30, "Date", "120"), opts: Options{MinWait: 8 * sec, MaxWait: 1}},
	{name: "ErrBeforeDate comes before MaxWait", err: ErrBeforeDate,
		header: fields("Retry-After", d0, "Date", d30), opts: Options{MinWait: 8 * sec, MaxWait: 1}},
}

// TestPlan makes the plan of each case several times, because the order in which Go ranges
// over a map is random. It also checks that Plan returns a plan or an error, never both.
func TestPlan(t *testing.T) {
	for _, c := range planCases {
		t.Run(c.name, func(t *testing.T) {
			opts, receipt := c.opts, time.Hour
			if opts.Jitter.Rand == nil {
				opts.Jitter.Rand = noJitter
			}
			if !opts.ResponseReceivedAt.IsZero() {
				receipt -= t0.Sub(opts.ResponseReceivedAt)
			}
			want := c.want
			if want != (RetryPlan{}) {
				want.Deadline = Deadline{mono: receipt + want.Wait, set: true}
			}
			for range 20 {
				got, err := planOn(t0, c.header, opts)
				if err != nil && got != (RetryPlan{}) {
					t.Fatalf("Plan(%v) = %#v beside the error %v", c.header, got, err)
				}
				var field *FieldError
				var limit *LimitError
				if errors.As(err, &field) {
					err = field.Err
				} else if errors.As(err, &limit) && limit.Limit == opts.MaxWait {
					got, err = limit.Plan, limit.Err
				}
				if err != c.err || got != want {
					t.Fatalf("Plan(%v): error %v, want %v; %s", c.header, err, c.err, diff(got, want))
				}
			}
		})
	}
}

// TestAgeField checks which age is subtracted from a Retry-After of 30, for several lines of
// the Age field.
func TestAgeField(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  time.Duration
		note  string
	}{
		{[]string{"20, 7200"}, 20 * sec, "the first of a list"},
		{[]string{"0, 7200"}, 0, "the first of a list, which is 0"},
		{[]string{"\t20 ", "7200"}, 20 * sec, "the first of two lines, without its blanks"},
		{[]string{"1577880000"}, 50 * aYear, "exactly 50 years"},
		{[]string{"1577880001"}, 0, "more than 50 years"},
		{[]string{"1664612639"}, 0, "a Unix time"},
		{[]string{strings.Repeat("9", 20)}, 0, "twenty nines"},
		{[]string{"-7200"}, 0, "a negative number"},
		{[]string{"+20"}, 0, "a sign"},
		{[]string{"7200.0"}, 0, "a fraction"},
		{[]string{"abc"}, 0, "letters"},
		{[]string{" "}, 0, "a blank"},
		{[]string{", 20"}, 0, "an empty first member"},
		{nil, 0, "no lines"},
	} {
		header := http.Header{"Retry-After": {"30"}, "Date": {d0}, "Age": c.lines}
		p, err := planOn(t0, header, Options{})
		if err != nil || p.Age != c.want || p.Floor != max(0, 30*sec-c.want) || p.Skew != -c.want {
			t.Errorf("Age %q: Plan() = %#v, %v; want Age %v: %s", c.lines, p, err, c.want, c.note)
		}
	}
}

// TestDateField plans with lines of the Date field, which an HTTP-date needs and a delay does
// not.
func TestDateField(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  error
	}{
		{[]string{d0}, nil},
		{[]string{" " + d0 + "\t"}, nil},
		{[]string{"Mon, 4 May 2020 08:48:10 GMT"}, ErrDateSyntax}, // a day of one digit
		{[]string{d0, d0}, ErrMultipleValues},
		{[]string{"Tue", "04 Aug 2026 12:00:00 GMT"}, ErrMultipleValues}, // d0 if joined
		{[]string{d0 + ", " + d0}, ErrMultipleValues},
		{[]string{" "}, ErrEmpty},
		{[]string{"120"}, ErrDateSyntax},
		{[]string{"Tue, 04 Aug 2026 12:00:00 UTC"}, ErrNonGMTZone},
	} {
		p, err := planOn(t0, http.Header{"Retry-After": {d30}, "Date": c.lines}, Options{})
		want := FieldError{Field: "Date", Value: strings.Join(c.lines, ", "), Err: c.want}
		var field *FieldError
		if c.want == nil && (err != nil || p.Floor != 30*sec) ||
			c.want != nil && (!errors.As(err, &field) || *field != want) {
			t.Errorf("Date %q, HTTP-date: Plan() = %#v, %#v; want error %v", c.lines, p, err, c.want)
		}
		p, err = planOn(t0, http.Header{"Retry-After": {"30"}, "Date": c.lines}, Options{})
		if err != nil || p.Floor != 30*sec || p.SkewKnown != (c.want == nil) || p.Skew != 0 {
			t.Errorf("Date %q, delay: Plan() = %#v, %v; want a Floor of 30s", c.lines, p, err)
		}
	}
}

// TestTwoSpellings plans several times from a hand-made map, because the order in which Go
// ranges over a map is random. The error holds all lines, sorted, and Plan writes neither to
// the caller's slices nor behind their ends.
func TestTwoSpellings(t *testing.T) {
	want := FieldError{Field: "Retry-After", Value: "6, 7, 8, 9", Err: ErrMultipleValues}
	for range 20 {
		upper, lower := append(make([]string, 0, 4), "9", "7"), append(make([]string, 0, 4), "8", "6")
		_, err := Plan(http.Header{"RETRY-AFTER": upper, "retry-after": lower}, Options{})
		var field *FieldError
		if !errors.As(err, &field) || *field != want {
			t.Fatalf("Plan() = %v; want %#v", err, want)
		}
		if got := fmt.Sprintf("%q %q", upper[:4], lower[:4]); got != `["9" "7" "" ""] ["8" "6" "" ""]` {
			t.Fatalf("Plan wrote to the lines of the header: %s", got)
		}
	}
}

// TestInvalidOptions compares the complete message of each invalid option, and accepts every
// bound. The results of Jitter.Rand are in TestRand.
func TestInvalidOptions(t *testing.T) {
	process := systemNow()
	now, utc := process.wall, process.wall.UTC() // UTC removes the monotonic reading
	times := func(sent, received time.Time) Options {
		return Options{RequestSentAt: sent, ResponseReceivedAt: received}
	}
	const (
		longest   = 50 * aYear
		above     = " is 438300h0m0.000000001s, not between 0 and 50 years"
		below     = " is -1ns, not between 0 and 50 years"
		noReading = "RequestSentAt or ResponseReceivedAt has no monotonic reading: " +
			"pass both exactly as time.Now returned them"
		outside = "RequestSentAt or ResponseReceivedAt has a monotonic reading and time.Now has none: " +
			"take both inside the testing/synctest bubble"
		farReceipt = "ResponseReceivedAt is more than 50 years from now"
	)
	// Whatever the header is, invalid options are the first error.
	check := func(now instant, opts Options, want string) {
		for _, header := range []http.Header{
			fields("Retry-After", "30"), fields("Retry-After", "x"), fields("Retry-After", d30), nil,
		} {
			got, err := planAt(now, header, &opts)
			if want == "" && errors.Is(err, ErrInvalidOptions) {
				t.Errorf("Plan(%v, %+v): %v; want no such error", header, opts, err)
			} else if want != "" && (got != (RetryPlan{}) || !errors.Is(err, ErrInvalidOptions) ||
				err.Error() != "retryafter: invalid options: "+want) {
				t.Errorf("Plan(%v, %+v) = %#v, %v; want %s", header, opts, got, err, want)
			}
		}
	}
	for _, c := range []struct {
		opts Options
		want string // empty if the options are valid
	}{
		{Options{}, ""},
		{Options{Attempt: math.MaxInt}, ""},
		{Options{Attempt: -1}, "Attempt is negative: -1"},
		{Options{Jitter: Jitter{Key: "k"}}, ""},
		{Options{Jitter: Jitter{Key: "k", Rand: noJitter}}, "Jitter has both Key and Rand"},
		{Options{Jitter: Jitter{Spread: longest}}, ""},
		{Options{Jitter: Jitter{Spread: longest + 1}}, "Jitter.Spread" + above},
		{Options{Jitter: Jitter{Spread: -1}}, "Jitter.Spread" + below},
		{Options{Age: ptr(longest)}, ""},
		{Options{Age: ptr(longest + 1)}, "Age" + above},
		{Options{Age: ptr[time.Duration](-1)}, "Age" + below},
		{Options{MinWait: longest}, ""},
		{Options{MinWait: longest + 1}, "MinWait" + above},
		{Options{MinWait: -1}, "MinWait" + below},
		{Options{MaxWait: math.MaxInt64}, ""},
		{Options{MaxWait: -1}, "MaxWait is negative: -1ns"},
		{Options{OnMissingDate: TrustClientClock}, ""},
		{Options{OnMissingDate: TrustClientClock + 1}, "OnMissingDate is 2, not a MissingDate"},

		{times(now, now), ""},
		{times(time.Time{}, now), "ResponseReceivedAt is set without RequestSentAt"},
		{times(now, time.Time{}), "RequestSentAt is set without ResponseReceivedAt"},
		{times(utc, utc), noReading},
		{times(utc, now), noReading},
		{times(now, utc), noReading},
		{times(now.Add(1), now), "RequestSentAt is 1ns after ResponseReceivedAt"},
		{times(now.Add(-longest), now), ""},
		{times(now.Add(-longest-1), now),
			"ResponseReceivedAt is 438300h0m0.000000001s after RequestSentAt, more than 50 years"},
		{times(now.Add(-longest), now.Add(-longest)), ""},
		{times(now.Add(-longest-1), now.Add(-longest-1)), farReceipt},
		{times(now.Add(longest), now.Add(longest)), ""},
		{times(now.Add(longest+1), now.Add(longest+1)), farReceipt},
	} {
		check(process, c.opts, c.want)
	}
	synctest.Test(t, func(*testing.T) { // in a bubble, time.Now has no monotonic reading
		check(systemNow(), times(time.Now(), time.Now()), "")
		check(systemNow(), times(now, now), outside)
		check(systemNow(), times(time.Now(), now), outside)
		check(systemNow(), times(now, time.Now()), outside)
	})
}

// TestRetryPlanString compares the text of a plan of each kind, with full jitter.
func TestRetryPlanString(t *testing.T) {
	const (
		of30s   = "wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; "
		unknown = "client clock unknown: no usable Date"
	)
	for _, c := range []struct {
		ahead  time.Duration // the client's clock minus t0
		header http.Header
		opts   Options
		want   string
	}{
		{40 * sec, fields("Retry-After", d30, "Date", d0), Options{},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; client clock 40s ahead"},
		{-39600 * msec, fields("Retry-After", "30", "Date", d0, "Age", "20"), Options{},
			"wait 12.5s = floor 10s (delay-seconds 30s - age 20s) + jitter 2.5s of 2.5s; " +
				"client clock 1m0s behind"},
		{sec, fields("Retry-After", "30", "Date", d0), Options{}, of30s + "client clock correct to a second"},
		{-sec, fields("Retry-After", "30", "Date", d0), Options{}, of30s + "client clock correct to a second"},
		{sec + 1, fields("Retry-After", "30", "Date", d0), Options{}, of30s + "client clock 1s ahead"},
		{-sec - 1, fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0), Options{},
			"wait 250ms = floor 0s (http-date -1s, clamped to zero) + jitter 250ms of 250ms; " +
				"client clock 1s behind"},
		{0, fields("Retry-After", "30", "Age", "689"), Options{MinWait: 8 * sec},
			"wait 10s = MinWait 8s over floor 0s (delay-seconds 30s - age 11m29s, clamped to zero) + " +
				"jitter 2s of 2s; " + unknown},
		{0, fields("Retry-After", "30"), Options{MinWait: 30 * sec}, of30s + unknown},
		{0, nil, Options{MinWait: 8 * sec},
			"wait 10s = MinWait 8s over floor 0s (no Retry-After) + jitter 2s of 2s; " + unknown},
		{0, fields("Retry-After", d30), Options{OnMissingDate: TrustClientClock},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; " +
				"counted from the client's clock: no Date"},
		// The skew is the lowest Duration, which has no positive counterpart.
		{0, fields("Retry-After", "30", "Date", "Fri, 31 Dec 9999 23:59:59 GMT"), Options{},
			of30s + "client clock 2562047h47m16.854775807s behind"},
	} {
		c.opts.Jitter.Rand = fullJitter
		p, err := planOn(t0.Add(c.ahead), c.header, c.opts)
		if got := p.String(); got != c.want || err != nil {
			t.Errorf("String() = %s, error %v\n     want %s", got, err, c.want)
		}
	}
	if got := (RetryPlan{}).String(); got != "no plan" {
		t.Errorf("RetryPlan{}.String() = %q, want no plan", got)
	}
}

// TestLogValueAndJSON compares the slog group and the JSON of a plan. The deadline is written
// as the wall time at which the wait ends, even a second after the plan was made.
func TestLogValueAndJSON(t *testing.T) {
	setLocal(t, time.UTC)
	synctest.Test(t, func(t *testing.T) { // the bubble's clock begins at 2000-01-01T00:00:00Z
		header := fields("Retry-After", "Sat, 01 Jan 2000 00:00:30 GMT",
			"Date", "Fri, 31 Dec 1999 23:59:20 GMT", "Age", "20")
		p, err := Plan(header, Options{Jitter: Jitter{Rand: fullJitter}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(sec)

		want := []slog.Attr{
			slog.Duration("wait", 62500*msec),
			slog.Duration("floor", 50*sec),
			slog.Duration("jitter", 12500*msec),
			slog.Duration("spread", 12500*msec),
			slog.String("source", "http-date"),
			slog.Duration("instructed", 70*sec),
			slog.Duration("age", 20*sec),
			slog.Duration("skew", 20*sec),
			slog.Bool("skew_known", true),
			slog.Bool("clamped_to_zero", false),
			slog.Bool("trusted_client_clock", false),
			slog.Time("deadline", time.Date(2000, 1, 1, 0, 1, 2, 5e8, time.UTC)),
		}
		if got := p.LogValue().Group(); !slices.EqualFunc(got, want, slog.Attr.Equal) {
			t.Errorf("LogValue() = %v\n     want %v", got, want)
		}

		const wantJSON = `{"Wait":62500000000,"Floor":50000000000,"Jitter":12500000000,` +
			`"Spread":12500000000,"Source":"http-date","Instructed":70000000000,"Age":20000000000,` +
			`"Skew":20000000000,"SkewKnown":true,"ClampedToZero":false,"TrustedClientClock":false,` +
			`"Deadline":"2000-01-01T00:01:02.5Z"}`
		if got, err := json.Marshal(p); string(got) != wantJSON || err != nil {
			t.Errorf("json.Marshal = %s, %v\n        want %s", got, err, wantJSON)
		}
	})
	// A plan in JSON cannot be decoded, because a Deadline means nothing in another process.
	for _, text := range []string{`{"Source":"http-date"}`, `{"Deadline":"2000-01-01T00:01:02.5Z"}`} {
		var p RetryPlan
		if err := json.Unmarshal([]byte(text), &p); err == nil {
			t.Errorf("json.Unmarshal(%s) = %#v, want an error", text, p)
		}
	}
}

// setLocal sets time.Local until the end of the test.
func setLocal(t *testing.T, zone *time.Location) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = zone
}

// TestNothingAllocates plans every case that makes a plan, with the default jitter, with a Rand
// and with a key, and waits for a deadline that has passed.
func TestNothingAllocates(t *testing.T) {
	key := strings.Repeat("k", 120)
	for _, c := range planCases {
		for _, jitter := range []Jitter{{}, {Rand: fullJitter}, {Key: key}} {
			opts := c.opts
			opts.Jitter = jitter
			if _, err := planOn(t0, c.header, opts); err != nil {
				continue
			}
			if n := testing.AllocsPerRun(10, func() { planOn(t0, c.header, opts) }); n != 0 {
				t.Errorf("%s: Plan allocates %v times, want 0", c.name, n)
			}
		}
	}
	ctx, header := t.Context(), fields("Retry-After", "0")
	p, err := Plan(header, Options{Jitter: Jitter{Rand: noJitter}})
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(10, func() { err = WaitFor(ctx, p) }); n != 0 || err != nil {
		t.Errorf("WaitFor(%v) allocates %v times, want 0; error %v", p, n, err)
	}
}

// A planInput is everything that a plan depends on.
type planInput struct {
	wall, receipt time.Time // the client's clock when Plan is called, and at receipt
	header        http.Header
	opts          Options
}

var errField = errors.New("a FieldError")

// plainVerdict returns the error that the documentation of Plan demands, except
// ErrExceedsMaxWait: ErrInvalidOptions, ErrNoRetryAfter, errField for a FieldError, or nil.
func plainVerdict(in planInput) error {
	o := in.opts
	outside := func(d time.Duration) bool { return d < 0 || d > 50*aYear }
	if outside(o.Jitter.Spread) || o.Age != nil && outside(*o.Age) ||
		outside(o.MinWait) || o.MaxWait < 0 || o.OnMissingDate > TrustClientClock ||
		outside(o.ResponseReceivedAt.Sub(o.RequestSentAt)) {
		return ErrInvalidOptions
	}

	lines, dates := in.header["Retry-After"], in.header["Date"]
	switch {
	case len(lines) == 0 && o.MinWait == 0:
		return ErrNoRetryAfter
	case len(lines) == 0:
		return nil
	case len(lines) > 1:
		return errField
	}
	asked, errs := plainParse(lines[0])
	var usable bool
	switch {
	case errs != nil || asked.Source == DelaySeconds:
		usable = errs == nil
	case len(dates) == 0: // counted from the client's clock at receipt
		usable = o.OnMissingDate == TrustClientClock && asked.Date.Sub(in.receipt) <= 50*aYear
	default:
		date, dateErrs := plainParse(dates[0])
		wait := asked.Date.Sub(date.Date)
		usable = len(dates) == 1 && dateErrs == nil && date.Source == HTTPDate &&
			-sec <= wait && wait <= 50*aYear
	}
	if !usable {
		return errField
	}
	return nil
}

// plainFloor returns what the server asked for and the age to subtract, for an input that
// makes a plan.
func plainFloor(in planInput) (instructed, age time.Duration) {
	lines, dates, ages := in.header["Retry-After"], in.header["Date"], in.header["Age"]
	if len(lines) == 0 {
		return 0, 0
	}
	age = in.opts.ResponseReceivedAt.Sub(in.opts.RequestSentAt)
	if len(ages) > 0 {
		first, _, _ := strings.Cut(ages[0], ",")
		n, err := strconv.ParseUint(strings.Trim(first, " \t"), 10, 64)
		if err == nil && n <= 1577880000 {
			age += time.Duration(n) * sec
		}
	}
	if in.opts.Age != nil {
		age = *in.opts.Age
	}
	asked, _ := plainParse(lines[0])
	if asked.Source == DelaySeconds {
		return asked.Delay, age
	}
	if len(dates) == 0 {
		return asked.Date.Sub(in.receipt), 0
	}
	date, _ := plainParse(dates[0])
	return asked.Date.Sub(date.Date), age
}

// checkPlan compares a plan with plainVerdict and plainFloor, and checks the rules of every
// plan: the sums, the bounds, and that the client's clock, unless it is trusted, changes only
// Skew.
func checkPlan(t interface{ Fatalf(string, ...any) }, in planInput) {
	p, err := planOn(in.wall, in.header, in.opts)
	if err != nil && p != (RetryPlan{}) {
		t.Fatalf("Plan() = %#v beside the error %v", p, err)
	}
	want := plainVerdict(in)
	var field *FieldError
	var limit *LimitError
	switch {
	case want == errField && errors.As(err, &field), want == ErrNoRetryAfter && err == want,
		want == ErrInvalidOptions && errors.Is(err, want):
		return // the error that it should be
	case want == nil && errors.As(err, &limit):
		p = limit.Plan
	case want != nil || err != nil:
		t.Fatalf("Plan() = %#v, %v; want error %v", p, err, want)
	}

	instructed, age := plainFloor(in)
	floor := time.Duration(0)
	if instructed > age {
		floor = instructed - age
	}
	base := max(floor, in.opts.MinWait)
	if p.Instructed != instructed || p.Age != age || p.Floor != floor ||
		p.ClampedToZero != (instructed < age) {
		t.Fatalf("Plan() = %#v; want Instructed %v, Age %v, Floor %v", p, instructed, age, floor)
	}
	if p.Jitter < 0 || p.Jitter > p.Spread || p.Wait != base+p.Jitter || p.Wait < base {
		t.Fatalf("Plan() = %#v; want a Wait of %v plus Jitter, and a Jitter from 0 to Spread", p, base)
	}
	receipt := time.Hour - in.wall.Sub(in.receipt)
	if p.Deadline != (Deadline{mono: receipt + p.Wait, set: true}) || p.Deadline.mono < receipt {
		t.Fatalf("Plan() = %#v; want a Deadline at %v plus Wait", p, receipt)
	}
	maxWait, needed := in.opts.MaxWait, base+min(p.Spread, 250*msec)
	if refused := maxWait > 0 && maxWait < needed; refused != (err != nil) ||
		!refused && maxWait > 0 && p.Wait > maxWait {
		t.Fatalf("Plan() = %#v, %v; MaxWait is %v, and %v is needed", p, err, maxWait, needed)
	}
	if p.TrustedClientClock {
		return
	}

	// The same on a client whose clock is an hour ahead of this one's.
	ahead := in
	ahead.wall = in.wall.Add(time.Hour)
	if !in.opts.RequestSentAt.IsZero() {
		ahead.opts.RequestSentAt = in.opts.RequestSentAt.Add(time.Hour)
		ahead.opts.ResponseReceivedAt = in.opts.ResponseReceivedAt.Add(time.Hour)
	}
	got, gotErr := planOn(ahead.wall, ahead.header, ahead.opts)
	if errors.As(gotErr, &limit) {
		got = limit.Plan
	}
	wantAhead := p
	if p.SkewKnown {
		wantAhead.Skew += time.Hour
	}
	if p.Skew > math.MaxInt64-time.Hour || p.Skew == math.MinInt64 { // saturated: not compared
		wantAhead.Skew = got.Skew
	}
	if got != wantAhead || fmt.Sprint(gotErr) != fmt.Sprint(err) {
		t.Fatalf("Plan() = %#v, %v; an hour ahead: %v; %s", p, err, gotErr, diff(got, wantAhead))
	}
}

// Generators of what a plan depends on.
var (
	// durations are at a bound, up to two minutes, or any.
	durations = rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, -1, 1e9, 25e7 - 1, 25e7, 30e9, 120e9, int64(50*aYear) - 1,
			int64(50 * aYear), int64(50*aYear) + 1, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64}),
		rapid.Int64Range(0, 120e9),
		rapid.Int64(),
	)
	// bounded are 0 to 50 years. The 0 is for MinInt64, whose negative is negative too.
	bounded = rapid.Map(durations, func(d int64) int64 { return max(d, -d, 0) % (int64(50*aYear) + 1) })

	// unixTimes are times that an HTTP-date can express, two thirds of them within 51 years
	// of t0.
	unixTimes = rapid.OneOf(
		rapid.Int64Range(t0.Unix()-100, t0.Unix()+100),
		rapid.Int64Range(t0.Unix()-51*31557600, t0.Unix()+51*31557600),
		rapid.Int64Range(-62167219200, 253402300799),
	)
	dateValues = rapid.Custom(func(t *rapid.T) string {
		date := time.Unix(unixTimes.Draw(t, "date"), 0).UTC()
		layouts := []string{http.TimeFormat, time.ANSIC}
		if year := date.Year(); 1900 <= year && year < 2100 {
			layouts = append(layouts, "Monday, 02-Jan-06 15:04:05 GMT")
		}
		return date.Format(rapid.SampledFrom(layouts).Draw(t, "layout"))
	})
	digitValues = rapid.OneOf(
		rapid.Map(rapid.IntRange(0, 200), strconv.Itoa),
		rapid.Map(rapid.IntRange(1577879990, 1577880010), strconv.Itoa), // near 50 years
		rapid.StringMatching(`[0-9]{1,25}`),
	)
	oddLines = rapid.SampledFrom([][]string{
		nil, {}, {""}, {" "}, {"120, 60"}, {"-1"}, {"soon"}, {"7", "7"}, {d0, d0},
	})
)

func drawPlanInput(t *rapid.T) planInput {
	// Half of the inputs have every option in bounds, because few of the others make a plan.
	values := durations
	if rapid.Bool().Draw(t, "in bounds") {
		values = bounded
	}
	duration := func(name string) time.Duration {
		return time.Duration(rapid.OneOf(rapid.Just(int64(0)), values).Draw(t, name))
	}
	lines := func(good *rapid.Generator[string], name string) []string {
		one := rapid.SliceOfN(good, 1, 1)
		return rapid.OneOf(one, one, one, oddLines).Draw(t, name)
	}
	wall := t0.Add(time.Duration(durations.Draw(t, "ahead")))
	in := planInput{wall: wall, receipt: wall, header: http.Header{
		"Retry-After": lines(rapid.OneOf(digitValues, dateValues), "Retry-After"),
		"Date":        lines(dateValues, "Date"),
		"Age":         lines(digitValues, "Age"),
	}}
	in.opts = Options{
		Attempt:       rapid.IntRange(0, math.MaxInt).Draw(t, "Attempt"),
		Jitter:        Jitter{Spread: duration("Spread")},
		MinWait:       duration("MinWait"),
		MaxWait:       duration("MaxWait"),
		OnMissingDate: rapid.SampledFrom([]MissingDate{RefuseMissingDate, TrustClientClock}).Draw(t, "OnMissingDate"),
	}
	if rapid.Bool().Draw(t, "with Key") {
		in.opts.Jitter.Key = rapid.StringN(1, -1, 200).Draw(t, "Key")
	} else {
		place := rapid.Float64Range(0, 1).Draw(t, "place")
		in.opts.Jitter.Rand = func() float64 { return place }
	}
	if rapid.Bool().Draw(t, "with Age") {
		in.opts.Age = ptr(duration("Options.Age"))
	}
	if rapid.Bool().Draw(t, "with times") {
		in.receipt = wall.Add(rapid.SampledFrom([]time.Duration{0, -sec, sec, -50 * aYear}).Draw(t, "receipt"))
		in.opts.RequestSentAt = in.receipt.Add(-duration("round trip"))
		in.opts.ResponseReceivedAt = in.receipt
	}
	return in
}

func TestPlanInvariants(t *testing.T) {
	plans, inputs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		in := drawPlanInput(t)
		checkPlan(t, in)
		inputs++
		if plainVerdict(in) == nil {
			plans++
		}
	})
	t.Logf("%d of %d inputs made a plan or a LimitError", plans, inputs)
	if plans == 0 {
		t.Error("no input made a plan or a LimitError")
	}
}

// FuzzPlan plans from the lines of the three fields, which line feeds separate.
func FuzzPlan(f *testing.F) {
	for _, c := range planCases {
		lines := func(name string) string { return strings.Join(c.header[name], "\n") }
		f.Add(lines("Retry-After"), lines("Date"), lines("Age"),
			int64(c.opts.MinWait), int64(c.opts.MaxWait), uint8(c.opts.OnMissingDate))
	}
	f.Fuzz(func(t *testing.T, retryAfter, date, age string, minWait, maxWait int64, onMissingDate uint8) {
		in := planInput{wall: t0, receipt: t0, header: http.Header{}, opts: Options{
			Jitter:        Jitter{Rand: fullJitter},
			MinWait:       time.Duration(minWait),
			MaxWait:       time.Duration(maxWait),
			OnMissingDate: MissingDate(onMissingDate),
		}}
		for name, lines := range map[string]string{"Retry-After": retryAfter, "Date": date, "Age": age} {
			if lines != "" {
				in.header[name] = strings.Split(lines, "\n")
			}
		}
		checkPlan(t, in)
	})
}

// BenchmarkPlan plans from a header of the usual size. A date is compared with the usual code
// on the same header. Delay-seconds are compared with time.Now, because the usual code for them
// takes almost no time.
func BenchmarkPlan(b *testing.B) {
	header := func(retryAfter string) http.Header {
		return http.Header{
			"Cache-Control": {"no-store"}, "Content-Length": {"33"}, "Content-Type": {"text/plain"},
			"Date": {d0}, "Retry-After": {retryAfter}, "Server": {"example"},
			"Strict-Transport-Security": {"max-age=63072000"}, "X-Request-Id": {"00f067aa0ba902b7"},
		}
	}
	plan := func(header http.Header, opts Options) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := Plan(header, opts); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	usual := func(b *testing.B) {
		header := header(d30)
		for b.Loop() {
			naiveWait(header, time.Now())
		}
	}
	key := Options{Attempt: 3, Jitter: Jitter{Key: "client-7"}}
	versus(b, "date", "usual-code", usual, plan(header(d30), Options{}))
	versus(b, "key", "usual-code", usual, plan(header(d30), key))
	versus(b, "seconds", "time.Now", benchmarkNow, plan(header("120"), Options{}))
}

func benchmarkNow(b *testing.B) {
	for b.Loop() {
		time.Now()
	}
}
