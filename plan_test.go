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

// Plans that several cases want: delay30 of a Retry-After of 30 without Date, and date30 of
// the date d30 with the Date d0.
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
// clock reads t0. With ErrExceedsMaxWait, the plan is the one in the LimitError. Without a
// Jitter.Rand, the jitter is zero. The Deadline of a plan follows from its Wait.
var planCases = []struct {
	name   string
	header http.Header
	opts   Options
	want   RetryPlan
	err    error
}{
	// The wait that the server asks for.
	{
		name:   "30 s as delay-seconds",
		header: fields("Retry-After", "30", "Date", d0),
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, SkewKnown: true,
		},
	},
	{name: "30 s as an HTTP-date", header: fields("Retry-After", d30, "Date", d0), want: date30},
	{
		name:   "30 s as obsolete forms of HTTP-date",
		header: fields("Retry-After", "Tuesday, 04-Aug-26 12:00:30 GMT", "Date", "Tue Aug  4 12:00:00 2026"),
		want:   date30,
	}, {
		name:   "37 s in 2019, read by a client in 2026",
		header: fields("Retry-After", "Wed, 18 Sep 2019 05:34:00 GMT", "Date", "Wed, 18 Sep 2019 05:33:23 GMT"),
		want: RetryPlan{
			Wait: 37 * sec, Floor: 37 * sec, Spread: 9250 * msec,
			Source: HTTPDate, Instructed: 37 * sec, Skew: 217_059_997 * sec, SkewKnown: true,
		},
	}, {
		name:   "delay-seconds of 0 is a floor of 0",
		header: fields("Retry-After", "0"),
		want:   RetryPlan{Spread: 250 * msec, Source: DelaySeconds},
	}, {
		name:   "a date equal to Date is a floor of 0, not clamped",
		header: fields("Retry-After", d0, "Date", d0),
		want:   RetryPlan{Spread: 250 * msec, Source: HTTPDate, SkewKnown: true},
	}, {
		name:   "a date one second before Date is clamped to 0",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0),
		want: RetryPlan{
			Spread: 250 * msec,
			Source: HTTPDate, Instructed: -sec, SkewKnown: true, ClampedToZero: true,
		},
	}, {
		name:   "a date two seconds before Date is ErrBeforeDate",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:59:58 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "a date one hour before Date is ErrBeforeDate",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT", "Date", d0),
		err:    ErrBeforeDate,
	}, {
		name:   "a date 7,973 years before Date is ErrBeforeDate",
		header: fields("Retry-After", d0, "Date", "Fri, 31 Dec 9999 23:59:59 GMT"),
		err:    ErrBeforeDate,
	}, {
		name:   "a date exactly 50 years after Date is accepted",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT", "Date", d0),
		want: RetryPlan{
			Wait: 50 * aYear, Floor: 50 * aYear, Spread: 30 * sec,
			Source: HTTPDate, Instructed: 50 * aYear, SkewKnown: true,
		},
	}, {
		name:   "a date one second more than 50 years after Date is ErrTooFarAhead",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "the year 9999 with a Date of 2026 is ErrTooFarAhead",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", d0),
		err:    ErrTooFarAhead,
	}, {
		name:   "the year 9999 with a Date of the year 0 is ErrTooFarAhead",
		header: fields("Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT", "Date", "Sat, 01 Jan 0000 00:00:00 GMT"),
		err:    ErrTooFarAhead,
	},
	{name: "a delay that overflows to a negative one", header: fields("Retry-After", "9223372037"), err: ErrTooFarAhead},
	{name: "a delay that overflows to 290ms", header: fields("Retry-After", "18446744074"), err: ErrTooFarAhead},
	{name: "a Unix time is ErrTooFarAhead", header: fields("Retry-After", "1746136938"), err: ErrTooFarAhead},
	{name: "a unit is ErrDelaySyntax", header: fields("Retry-After", "30s"), err: ErrDelaySyntax},
	{name: "a fraction is ErrDelaySyntax", header: fields("Retry-After", "2.0"), err: ErrDelaySyntax},
	{name: "an empty value is ErrEmpty", header: fields("Retry-After", ""), err: ErrEmpty},

	// The age of the response.
	{
		name:   "Age is subtracted from an HTTP-date",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		want: RetryPlan{
			Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true,
		},
	}, {
		name:   "Age is subtracted from delay-seconds",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		want: RetryPlan{
			Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true,
		},
	}, {
		name:   "an Age equal to the delay is a floor of 0, not clamped",
		header: fields("Retry-After", "30", "Age", "30"),
		want:   RetryPlan{Spread: 250 * msec, Source: DelaySeconds, Instructed: 30 * sec, Age: 30 * sec},
	}, {
		name:   "an Age one second more than the delay is clamped to 0",
		header: fields("Retry-After", "30", "Age", "31"),
		want: RetryPlan{
			Spread: 250 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 31 * sec, ClampedToZero: true,
		},
	}, {
		name:   "a 429 from a cache, much older than the delay, is clamped to 0",
		header: fields("Retry-After", "30", "Age", "689"),
		want: RetryPlan{
			Spread: 250 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 689 * sec, ClampedToZero: true,
		},
	}, {
		name:   "of a list of ages the first counts",
		header: fields("Retry-After", "30", "Age", "20, 7200"),
		want: RetryPlan{
			Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 20 * sec,
		},
	}, {
		name:   "of two Age lines the first counts, without its blanks",
		header: fields("Retry-After", "30", "Age", "\t20 ", "Age", "7200"),
		want: RetryPlan{
			Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 20 * sec,
		},
	}, {
		name:   "an Age of 50 years counts",
		header: fields("Retry-After", "30", "Age", "1577880000"),
		want: RetryPlan{
			Spread: 250 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 50 * aYear, ClampedToZero: true,
		},
	},
	{name: "an Age of more than 50 years is ignored", header: fields("Retry-After", "30", "Age", "1577880001"), want: delay30},
	{name: "the first age of a list may be 0", header: fields("Retry-After", "30", "Age", "0, 7200"), want: delay30},
	{name: "an Age of letters is ignored", header: fields("Retry-After", "30", "Age", "abc"), want: delay30},
	{name: "a negative Age is ignored", header: fields("Retry-After", "30", "Age", "-7200"), want: delay30},
	{name: "an Age with a fraction is ignored", header: fields("Retry-After", "30", "Age", "7200.0"), want: delay30},
	{name: "an Age with a sign is ignored", header: fields("Retry-After", "30", "Age", "+20"), want: delay30},
	{name: "an Age that is a Unix time is ignored", header: fields("Retry-After", "30", "Age", "1664612639"), want: delay30},
	{name: "an Age of twenty nines is ignored", header: fields("Retry-After", "30", "Age", strings.Repeat("9", 20)), want: delay30},
	{name: "a blank Age is ignored", header: fields("Retry-After", "30", "Age", " "), want: delay30},
	{name: "an empty first age is ignored", header: fields("Retry-After", "30", "Age", ", 20"), want: delay30},
	{
		name:   "Options.Age replaces the Age field, but not in Skew",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(5 * sec)},
		want: RetryPlan{
			Wait: 25 * sec, Floor: 25 * sec, Spread: 6250 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Age: 5 * sec, Skew: -20 * sec, SkewKnown: true,
		},
	}, {
		name:   "Options.Age of 0 makes a delay count from receipt",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(0 * sec)},
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Skew: -20 * sec, SkewKnown: true,
		},
	}, {
		name:   "Options.Age replaces the round trip too, but not in Skew",
		header: fields("Retry-After", "30", "Date", d0, "Age", "20"),
		opts:   Options{Age: ptr(0 * sec), RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Skew: -20200 * msec, SkewKnown: true,
		},
	}, {
		name:   "the round trip counts as age",
		header: fields("Retry-After", "30", "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 29800 * msec, Floor: 29800 * msec, Spread: 7450 * msec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 200 * msec, Skew: -200 * msec, SkewKnown: true,
		},
	}, {
		name:   "the round trip and the Age field are added",
		header: fields("Retry-After", d30, "Date", d0, "Age", "20"),
		opts:   Options{RequestSentAt: t0.Add(-200 * msec), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 9800 * msec, Floor: 9800 * msec, Spread: 2450 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Age: 20200 * msec, Skew: -20200 * msec, SkewKnown: true,
		},
	}, {
		name:   "the wait and Skew count from a receipt 5 s ago",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{RequestSentAt: t0.Add(-5 * sec), ResponseReceivedAt: t0.Add(-5 * sec)},
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Skew: -5 * sec, SkewKnown: true,
		},
	},

	// A Date that is missing or malformed.
	{name: "a date without Date is ErrMissingDate", header: fields("Retry-After", d30), err: ErrMissingDate},
	{
		name:   "a date with a Date of no lines is ErrMissingDate",
		header: http.Header{"Retry-After": {d30}, "Date": {}},
		err:    ErrMissingDate,
	}, {
		name:   "TrustClientClock counts a date from the client's clock and ignores every age",
		header: fields("Retry-After", d30, "Age", "20"),
		opts: Options{OnMissingDate: TrustClientClock, Age: ptr(10 * sec),
			RequestSentAt: t0.Add(-sec), ResponseReceivedAt: t0},
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 7500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock counts from receipt, to the nanosecond",
		header: fields("Retry-After", d30),
		opts: Options{OnMissingDate: TrustClientClock,
			RequestSentAt: t0.Add(-4), ResponseReceivedAt: t0.Add(-4)},
		want: RetryPlan{
			Wait: 30*sec + 4, Floor: 30*sec + 4, Spread: 7500*msec + 1,
			Source: HTTPDate, Instructed: 30*sec + 4, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock clamps a date that has passed an hour ago to 0",
		header: fields("Retry-After", "Tue, 04 Aug 2026 11:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Spread: 250 * msec, Source: HTTPDate, Instructed: -time.Hour,
			ClampedToZero: true, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock clamps a date of the year 0 to 0",
		header: fields("Retry-After", "Sat, 01 Jan 0000 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Spread: 250 * msec, Source: HTTPDate, Instructed: math.MinInt64,
			ClampedToZero: true, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock accepts a date exactly 50 years ahead",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:00 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want: RetryPlan{
			Wait: 50 * aYear, Floor: 50 * aYear, Spread: 30 * sec,
			Source: HTTPDate, Instructed: 50 * aYear, TrustedClientClock: true,
		},
	}, {
		name:   "TrustClientClock with a date one second more than 50 years ahead is ErrTooFarAhead",
		header: fields("Retry-After", "Tue, 04 Aug 2076 00:00:01 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrTooFarAhead,
	}, {
		name:   "TrustClientClock changes nothing if there is a Date",
		header: fields("Retry-After", d30, "Date", d0),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   date30,
	}, {
		name:   "TrustClientClock changes nothing for delay-seconds",
		header: fields("Retry-After", "30"),
		opts:   Options{OnMissingDate: TrustClientClock},
		want:   delay30,
	}, {
		name:   "TrustClientClock does not accept a malformed Date",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		opts:   Options{OnMissingDate: TrustClientClock},
		err:    ErrDateSyntax,
	}, {
		name:   "a date with a Date of a one-digit day is ErrDateSyntax",
		header: fields("Retry-After", d30, "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		err:    ErrDateSyntax,
	}, {
		name:   "delay-seconds does not need the Date of a one-digit day",
		header: fields("Retry-After", "30", "Date", "Mon, 4 May 2020 08:48:10 GMT"),
		want:   delay30,
	},
	{name: "a date with two Dates", header: fields("Retry-After", d30, "Date", d0, "Date", d0), err: ErrMultipleValues},
	{name: "a date with two Dates in one line", header: fields("Retry-After", d30, "Date", d0+", "+d0), err: ErrMultipleValues},
	{name: "a date with a blank Date", header: fields("Retry-After", d30, "Date", " "), err: ErrEmpty},
	{name: "a date with a Date of digits", header: fields("Retry-After", d30, "Date", "120"), err: ErrDateSyntax},
	{name: "a date with a blank before Date", header: fields("Retry-After", d30, "Date", " "+d0), want: date30},
	{name: "delay-seconds with two Dates", header: fields("Retry-After", "30", "Date", d0, "Date", d0), want: delay30},
	{name: "delay-seconds with two Dates in one line", header: fields("Retry-After", "30", "Date", d0+", "+d0), want: delay30},
	{name: "delay-seconds with a blank Date", header: fields("Retry-After", "30", "Date", " "), want: delay30},
	{name: "delay-seconds with a Date of digits", header: fields("Retry-After", "30", "Date", "120"), want: delay30},

	// Field lines and the names of the fields.
	{name: "two equal lines", header: fields("Retry-After", "7", "Retry-After", "7"), err: ErrMultipleValues},
	{name: "two different lines", header: fields("Retry-After", "1", "Retry-After", "120"), err: ErrMultipleValues},
	{name: "an empty line and a good one", header: fields("Retry-After", "", "Retry-After", "120"), err: ErrMultipleValues},
	{
		name:   "two lines that would make a date if they were joined",
		header: fields("Retry-After", "Tue", "Retry-After", "04 Aug 2026 12:00:30 GMT", "Date", d0),
		err:    ErrMultipleValues,
	}, {
		name:   "two lines that would make a Date if they were joined",
		header: fields("Retry-After", d30, "Date", "Tue", "Date", "04 Aug 2026 12:00:00 GMT"),
		err:    ErrMultipleValues,
	}, {
		name:   "names in lower case",
		header: fields("retry-after", d30, "date", d0, "age", "20"),
		want: RetryPlan{
			Wait: 10 * sec, Floor: 10 * sec, Spread: 2500 * msec,
			Source: HTTPDate, Instructed: 30 * sec, Age: 20 * sec, Skew: -20 * sec, SkewKnown: true,
		},
	}, {
		name:   "names in mixed case beside a canonical Retry-After",
		header: fields("Retry-After", d30, "dATE", d0, "AGE", "10"),
		want: RetryPlan{
			Wait: 20 * sec, Floor: 20 * sec, Spread: 5 * sec,
			Source: HTTPDate, Instructed: 30 * sec, Age: 10 * sec, Skew: -10 * sec, SkewKnown: true,
		},
	},
	{name: "retry-after beside a canonical Date", header: fields("retry-after", d30, "Date", d0), want: date30},
	{
		name:   "a canonical Retry-After and Date hide all other spellings",
		header: fields("Retry-After", d30, "Date", d0, "retry-after", "60", "date", d30, "age", "20"),
		want:   date30,
	}, {
		name:   "two spellings of Retry-After without a canonical Date",
		header: fields("Retry-After", "5", "retry-after", "9"),
		err:    ErrMultipleValues,
	},
	{name: "two spellings, not canonical", header: fields("retry-after", "30", "RETRY-AFTER", "30"), err: ErrMultipleValues},
	{name: "two spellings of Date", header: fields("retry-after", d30, "date", d0, "DATE", d0), err: ErrMultipleValues},
	{
		name:   "of two spellings of Age the lower counts, without those that are not valid",
		header: fields("retry-after", "30", "Age", "x", "age", "20", "AGE", "10, 7", "aGE", "-1"),
		want: RetryPlan{
			Wait: 20 * sec, Floor: 20 * sec, Spread: 5 * sec,
			Source: DelaySeconds, Instructed: 30 * sec, Age: 10 * sec,
		},
	}, {
		name:   "spellings without lines do not count",
		header: http.Header{"retry-after": {"30"}, "RETRY-AFTER": {}, "Retry-After": nil, "age": {}},
		want:   delay30,
	},
	{name: "no header is ErrNoRetryAfter", err: ErrNoRetryAfter},
	{name: "no Retry-After is ErrNoRetryAfter", header: fields("Date", d0, "Age", "20"), err: ErrNoRetryAfter},
	{name: "no lines are ErrNoRetryAfter", header: http.Header{"Retry-After": {}, "retry-after": nil}, err: ErrNoRetryAfter},
	{
		name:   "similar names are ErrNoRetryAfter",
		header: fields("Retry_After", "30", "X-Retry-After", "30", "Retry-Afte\u0155", "30"),
		err:    ErrNoRetryAfter,
	},

	// The caller's own backoff.
	{
		name:   "MinWait of 8 s above a delay of 0",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * sec},
		want:   RetryPlan{Wait: 8 * sec, Spread: 2 * sec, Source: DelaySeconds},
	}, {
		name:   "MinWait of 8 s above a delay of 0, with full jitter",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * sec, Jitter: Jitter{Rand: fullJitter}},
		want:   RetryPlan{Wait: 10 * sec, Jitter: 2 * sec, Spread: 2 * sec, Source: DelaySeconds},
	}, {
		name:   "MinWait below the floor changes nothing",
		header: fields("Retry-After", "30"),
		opts:   Options{MinWait: 8 * sec},
		want:   delay30,
	}, {
		name:   "MinWait is the wait if there is no Retry-After",
		header: fields("Date", d0, "Age", "20"),
		opts:   Options{MinWait: 8 * sec, Age: ptr(5 * sec), Jitter: Jitter{Rand: fullJitter}},
		want:   RetryPlan{Wait: 10 * sec, Jitter: 2 * sec, Spread: 2 * sec, Skew: -20 * sec, SkewKnown: true},
	}, {
		name: "MinWait of 370 ms without a header",
		opts: Options{MinWait: 370 * msec},
		want: RetryPlan{Wait: 370 * msec, Spread: 250 * msec},
	}, {
		name: "MinWait of 1 ns without a header",
		opts: Options{MinWait: 1},
		want: RetryPlan{Wait: 1, Spread: 250 * msec},
	}, {
		name: "MinWait of 20 s and MaxWait of 10 s are ErrExceedsMaxWait",
		opts: Options{MinWait: 20 * sec, MaxWait: 10 * sec},
		want: RetryPlan{Wait: 20 * sec, Spread: 5 * sec},
		err:  ErrExceedsMaxWait,
	}, {
		name:   "MinWait does not replace a value that cannot be parsed",
		header: fields("Retry-After", "2.0"),
		opts:   Options{MinWait: 8 * sec},
		err:    ErrDelaySyntax,
	},

	// Jitter and MaxWait. The widths of the window are in TestWindow.
	{
		name:   "full jitter is a quarter of the floor",
		header: fields("Retry-After", "30"),
		opts:   Options{Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 37500 * msec, Floor: 30 * sec, Jitter: 7500 * msec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec,
		},
	}, {
		name:   "the longest floor, MinWait and Spread do not overflow",
		header: fields("Retry-After", "1577880000"),
		opts: Options{MinWait: 50 * aYear, MaxWait: math.MaxInt64,
			Jitter: Jitter{Spread: 50 * aYear, Rand: fullJitter}},
		want: RetryPlan{
			Wait: 100 * aYear, Floor: 50 * aYear, Jitter: 50 * aYear, Spread: 50 * aYear,
			Source: DelaySeconds, Instructed: 50 * aYear,
		},
	}, {
		name:   "an hour and MaxWait of 10 s are ErrExceedsMaxWait",
		header: fields("Retry-After", "3600"),
		opts:   Options{MaxWait: 10 * sec},
		want: RetryPlan{
			Wait: time.Hour, Floor: time.Hour, Spread: 30 * sec,
			Source: DelaySeconds, Instructed: time.Hour,
		},
		err: ErrExceedsMaxWait,
	}, {
		name:   "30 s and MaxWait of 30 s are ErrExceedsMaxWait",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30 * sec},
		want:   delay30,
		err:    ErrExceedsMaxWait,
	}, {
		name:   "30 s and MaxWait of 30.249 s are ErrExceedsMaxWait, whatever the draw",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30249 * msec, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 37500 * msec, Floor: 30 * sec, Jitter: 7500 * msec, Spread: 7500 * msec,
			Source: DelaySeconds, Instructed: 30 * sec,
		},
		err: ErrExceedsMaxWait,
	}, {
		name:   "30 s and MaxWait of 30.25 s leave a window of 250 ms",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 30250 * msec, Jitter: Jitter{Rand: fullJitter}},
		want: RetryPlan{
			Wait: 30250 * msec, Floor: 30 * sec, Jitter: 250 * msec, Spread: 250 * msec,
			Source: DelaySeconds, Instructed: 30 * sec,
		},
	}, {
		name:   "30 s and MaxWait of 35 s leave a window of 5 s",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 35 * sec},
		want: RetryPlan{
			Wait: 30 * sec, Floor: 30 * sec, Spread: 5 * sec,
			Source: DelaySeconds, Instructed: 30 * sec,
		},
	}, {
		name:   "30 s and MaxWait of 40 s leave the window whole",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 40 * sec},
		want:   delay30,
	}, {
		name:   "MinWait above MaxWait is ErrExceedsMaxWait",
		header: fields("Retry-After", "0"),
		opts:   Options{MinWait: 8 * sec, MaxWait: 5 * sec},
		want:   RetryPlan{Wait: 8 * sec, Spread: 2 * sec, Source: DelaySeconds},
		err:    ErrExceedsMaxWait,
	}, {
		name:   "the LimitError of a receipt 5 s ago holds a deadline in 25 s",
		header: fields("Retry-After", "30"),
		opts:   Options{MaxWait: 1, RequestSentAt: t0.Add(-5 * sec), ResponseReceivedAt: t0.Add(-5 * sec)},
		want:   delay30,
		err:    ErrExceedsMaxWait,
	},

	// The order of two errors. TestInvalidOptions shows that ErrInvalidOptions is the first.
	{
		name:   "a malformed Retry-After comes before a malformed Date",
		header: fields("Retry-After", "soon", "Date", " "),
		err:    ErrDateSyntax,
	}, {
		name:   "two lines of Retry-After come before a malformed Date",
		header: fields("Retry-After", d0, "Retry-After", d30, "Date", "120"),
		err:    ErrMultipleValues,
	}, {
		name:   "a malformed Date comes before MaxWait",
		header: fields("Retry-After", d30, "Date", "120"),
		opts:   Options{MaxWait: 1},
		err:    ErrDateSyntax,
	}, {
		name:   "ErrBeforeDate comes before MaxWait",
		header: fields("Retry-After", d0, "Date", d30),
		opts:   Options{MinWait: 8 * sec, MaxWait: 1},
		err:    ErrBeforeDate,
	},
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
				switch {
				case errors.As(err, &limit):
					got, err = limit.Plan, limit.Err
					if limit.Limit != c.opts.MaxWait {
						t.Errorf("Plan(%v): Limit is %v, want %v", c.header, limit.Limit, c.opts.MaxWait)
					}
				case errors.As(err, &field):
					err = field.Err
				}
				if err != c.err || got != want {
					t.Fatalf("Plan(%v) = %#v, %v; want error %v; %s", c.header, got, err, c.err, diff(got, want))
				}
			}
		})
	}
}

// TestManySpellings plans from a hand-made map: 100,000 field lines under 1,000 spellings of
// Retry-After. Plan must not write to the slices of the caller, not even behind their ends.
func TestManySpellings(t *testing.T) {
	header, all := http.Header{}, []string(nil)
	for spelling := range 1000 {
		name := []byte("retry-after")
		for bit, i := range []int{0, 1, 2, 3, 4, 6, 7, 8, 9, 10} { // the places of the letters
			name[i] -= byte(spelling>>bit&1) * ('a' - 'A')
		}
		lines := make([]string, 100, 200)
		for i := range lines {
			lines[i] = strconv.Itoa(1_000_000 - 100*spelling - i) // in descending order
		}
		header[string(name)] = lines
		all = append(all, lines...)
	}
	want := FieldError{Field: "Retry-After", Err: ErrMultipleValues}
	want.Value = strings.Join(slices.Sorted(slices.Values(all)), ", ")

	before := header.Clone()
	got, err := Plan(header, Options{})
	var field *FieldError
	if !errors.As(err, &field) || *field != want || got != (RetryPlan{}) {
		t.Errorf("Plan() = %#v, %.200v; want ErrMultipleValues with all lines in order", got, err)
	}
	for name, lines := range header {
		if !slices.Equal(lines, before[name]) {
			t.Fatalf("Plan changed the lines of %s", name)
		}
		if behind := lines[len(lines):cap(lines)]; slices.Max(behind) != "" {
			t.Fatalf("Plan wrote behind the lines of %s: %q", name, behind)
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
		noReading = "RequestSentAt or ResponseReceivedAt has no monotonic reading: " +
			"pass both exactly as time.Now returned them"
		farReceipt = "ResponseReceivedAt is more than 50 years from now"
	)
	for _, c := range []struct {
		opts Options
		want string // empty if the options are valid
	}{
		{Options{}, ""},
		{Options{Attempt: math.MaxInt}, ""},
		{Options{Attempt: -1}, "Attempt is negative: -1"},
		{Options{Jitter: Jitter{Key: "k"}}, ""},
		{Options{Jitter: Jitter{Key: "k", Rand: noJitter}}, "Jitter has both Key and Rand"},
		{Options{Jitter: Jitter{Spread: 50 * aYear}}, ""},
		{Options{Jitter: Jitter{Spread: 50*aYear + 1}},
			"Jitter.Spread is 438300h0m0.000000001s, not between 0 and 50 years"},
		{Options{Jitter: Jitter{Spread: math.MaxInt64}},
			"Jitter.Spread is 2562047h47m16.854775807s, not between 0 and 50 years"},
		{Options{Jitter: Jitter{Spread: -1}}, "Jitter.Spread is -1ns, not between 0 and 50 years"},
		{Options{Age: ptr(50 * aYear)}, ""},
		{Options{Age: ptr(50*aYear + 1)}, "Age is 438300h0m0.000000001s, not between 0 and 50 years"},
		{Options{Age: ptr[time.Duration](math.MaxInt64)},
			"Age is 2562047h47m16.854775807s, not between 0 and 50 years"},
		{Options{Age: ptr[time.Duration](-1)}, "Age is -1ns, not between 0 and 50 years"},
		{Options{MinWait: 50 * aYear}, ""},
		{Options{MinWait: 50*aYear + 1}, "MinWait is 438300h0m0.000000001s, not between 0 and 50 years"},
		{Options{MinWait: math.MaxInt64}, "MinWait is 2562047h47m16.854775807s, not between 0 and 50 years"},
		{Options{MinWait: -1}, "MinWait is -1ns, not between 0 and 50 years"},
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
		{times(now.Add(-50*aYear), now), ""},
		{times(now.Add(-50*aYear-1), now),
			"ResponseReceivedAt is 438300h0m0.000000001s after RequestSentAt, more than 50 years"},
		{times(now.Add(-50*aYear), now.Add(-50*aYear)), ""},
		{times(now.Add(-50*aYear-1), now.Add(-50*aYear-1)), farReceipt},
		{times(now.Add(50*aYear), now.Add(50*aYear)), ""},
		{times(now.Add(50*aYear+1), now.Add(50*aYear+1)), farReceipt},
	} {
		// Whatever the header is, options that are not valid are the first error.
		for _, value := range []string{"30", "x", d30} {
			got, err := planAt(process, fields("Retry-After", value), &c.opts)
			checkInvalid(t, c.opts, got, err, c.want)
		}
		if c.opts.MinWait == 0 {
			got, err := planAt(process, nil, &c.opts)
			checkInvalid(t, c.opts, got, err, c.want)
		}
	}

	synctest.Test(t, func(t *testing.T) {
		const outside = "RequestSentAt or ResponseReceivedAt has a monotonic reading and time.Now has none: " +
			"take both inside the testing/synctest bubble"
		for _, opts := range []Options{times(now, now), times(time.Now(), now), times(now, time.Now())} {
			got, err := Plan(fields("Retry-After", "30"), opts)
			checkInvalid(t, opts, got, err, outside)
		}
	})
}

// checkInvalid checks that err is ErrInvalidOptions with the given message and that there is
// no plan beside it; or, if the message is empty, that err is not ErrInvalidOptions.
func checkInvalid(t *testing.T, opts Options, got RetryPlan, err error, want string) {
	t.Helper()
	switch {
	case want == "" && errors.Is(err, ErrInvalidOptions):
		t.Errorf("Plan(%+v): %v; want no such error", opts, err)
	case want == "":
	case !errors.Is(err, ErrInvalidOptions) || got != (RetryPlan{}) ||
		err.Error() != "retryafter: invalid options: "+want:
		t.Errorf("Plan(%+v) = %#v, %v; want %s", opts, got, err, want)
	}
}

// TestRetryPlanString compares the text of a plan of each kind.
func TestRetryPlanString(t *testing.T) {
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
		{sec, fields("Retry-After", "30", "Date", d0), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; " +
				"client clock correct to a second"},
		{-sec, fields("Retry-After", "30", "Date", d0), Options{},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; " +
				"client clock correct to a second"},
		{-sec - 1, fields("Retry-After", "Tue, 04 Aug 2026 11:59:59 GMT", "Date", d0), Options{},
			"wait 250ms = floor 0s (http-date -1s, clamped to zero) + jitter 250ms of 250ms; " +
				"client clock 1s behind"},
		{sec + 1, fields("Retry-After", "0", "Date", d0), Options{MinWait: 8 * sec},
			"wait 10s = MinWait 8s over floor 0s (delay-seconds 0s) + jitter 2s of 2s; " +
				"client clock 1s ahead"},
		{0, fields("Retry-After", "30", "Age", "689"), Options{MinWait: 8 * sec},
			"wait 10s = MinWait 8s over floor 0s (delay-seconds 30s - age 11m29s, clamped to zero) + " +
				"jitter 2s of 2s; client clock unknown: no usable Date"},
		{0, fields("Retry-After", "30"), Options{MinWait: 30 * sec},
			"wait 37.5s = floor 30s (delay-seconds 30s) + jitter 7.5s of 7.5s; " +
				"client clock unknown: no usable Date"},
		{0, nil, Options{MinWait: 8 * sec},
			"wait 10s = MinWait 8s over floor 0s (no Retry-After) + jitter 2s of 2s; " +
				"client clock unknown: no usable Date"},
		{0, fields("Retry-After", d30), Options{OnMissingDate: TrustClientClock},
			"wait 37.5s = floor 30s (http-date 30s) + jitter 7.5s of 7.5s; " +
				"counted from the client's clock: no Date"},
		// The skew is the longest negative Duration.
		{0, fields("Retry-After", "0", "Date", "Fri, 31 Dec 9999 23:59:59 GMT"), Options{},
			"wait 250ms = floor 0s (delay-seconds 0s) + jitter 250ms of 250ms; " +
				"client clock 2562047h47m16.854775807s behind"},
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
// as the wall time at which the wait ends, however late it is written.
func TestLogValueAndJSON(t *testing.T) {
	setLocal(t, time.UTC)
	synctest.Test(t, func(t *testing.T) { // the clock in it begins at 2000-01-01T00:00:00Z
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

// setLocal sets the time zone of this machine until the end of the test.
func setLocal(t *testing.T, zone *time.Location) {
	local := time.Local
	t.Cleanup(func() { time.Local = local })
	time.Local = zone
}

// TestNothingAllocates plans every case that makes a plan, with the jitter of the case, with
// the default jitter and with a key, and waits for a deadline that has passed.
func TestNothingAllocates(t *testing.T) {
	key := strings.Repeat("k", 120)
	for _, c := range planCases {
		for _, jitter := range []Jitter{c.opts.Jitter, {}, {Key: key}} {
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
	if n := testing.AllocsPerRun(10, func() { err = errors.Join(err, WaitFor(ctx, p)) }); n != 0 || err != nil {
		t.Errorf("WaitFor(%v) allocates %v times, want 0; error %v", p, n, err)
	}
}

// A planInput is everything that a plan depends on.
type planInput struct {
	wall   time.Time // the client's clock when Plan is called
	header http.Header
	opts   Options
}

// receipt returns the client's clock at receipt.
func (in planInput) receipt() time.Time {
	if in.opts.ResponseReceivedAt.IsZero() {
		return in.wall
	}
	return in.opts.ResponseReceivedAt
}

var errField = errors.New("a FieldError")

// plainVerdict returns the error that the documentation of Plan demands, without regard to
// MaxWait: ErrInvalidOptions, ErrNoRetryAfter, errField for a FieldError, or nil for a plan.
func plainVerdict(in planInput) error {
	o := in.opts
	outside := func(d time.Duration) bool { return d < 0 || d > 50*aYear }
	roundTrip, ago := o.ResponseReceivedAt.Sub(o.RequestSentAt), in.wall.Sub(in.receipt())
	place := 0.0
	if o.Jitter.Rand != nil {
		place = o.Jitter.Rand()
	}
	if o.Attempt < 0 || outside(o.Jitter.Spread) || o.Age != nil && outside(*o.Age) ||
		outside(o.MinWait) || o.MaxWait < 0 || o.OnMissingDate > TrustClientClock ||
		outside(roundTrip) || outside(ago.Abs()) {
		return ErrInvalidOptions
	}

	lines, dates := in.header["Retry-After"], in.header["Date"]
	if len(lines) == 0 && o.MinWait == 0 {
		return ErrNoRetryAfter
	}
	if len(lines) > 0 {
		asked, errs := plainParse(lines[0])
		if len(lines) > 1 || errs != nil {
			return errField
		}
		if asked.Source == HTTPDate && len(dates) == 0 {
			if o.OnMissingDate != TrustClientClock || asked.Date.Sub(in.receipt()) > 50*aYear {
				return errField
			}
		} else if asked.Source == HTTPDate {
			date, errs := plainParse(dates[0])
			after := asked.Date.Sub(date.Date)
			if len(dates) > 1 || errs != nil || date.Source != HTTPDate || after < -sec || after > 50*aYear {
				return errField
			}
		}
	}
	if !(0 <= place && place <= 1) { // the place is drawn last
		return ErrInvalidOptions
	}
	return nil
}

// plainFloor returns what the server asked for and the age to subtract, for an input that
// makes a plan.
func plainFloor(in planInput) (instructed, age time.Duration) {
	if len(in.header["Retry-After"]) == 0 {
		return 0, 0
	}
	age = in.opts.ResponseReceivedAt.Sub(in.opts.RequestSentAt)
	if lines := in.header["Age"]; len(lines) > 0 {
		first, _, _ := strings.Cut(lines[0], ",")
		n, err := strconv.ParseUint(strings.Trim(first, " \t"), 10, 64)
		if err == nil && n <= 1577880000 {
			age += time.Duration(n) * sec
		}
	}
	if in.opts.Age != nil {
		age = *in.opts.Age
	}
	asked, _ := plainParse(in.header["Retry-After"][0])
	if asked.Source == DelaySeconds {
		return asked.Delay, age
	}
	if len(in.header["Date"]) == 0 {
		return asked.Date.Sub(in.receipt()), 0
	}
	date, _ := plainParse(in.header["Date"][0])
	return asked.Date.Sub(date.Date), age
}

// checkPlan compares a plan with plainVerdict and plainFloor, and checks what holds for every
// plan: the sums, the bounds, and that the client's clock changes nothing but Skew.
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
		return
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
	if p.Instructed != instructed || p.Age != age || p.Floor != floor || p.ClampedToZero != (instructed < age) {
		t.Fatalf("Plan() = %#v; want Instructed %v, Age %v, Floor %v", p, instructed, age, floor)
	}
	if p.Jitter < 0 || p.Jitter > p.Spread || p.Wait != base+p.Jitter || p.Wait < base {
		t.Fatalf("Plan() = %#v; want a Wait of %v plus Jitter, and a Jitter from 0 to Spread", p, base)
	}
	receipt := time.Hour - in.wall.Sub(in.receipt())
	if p.Deadline != (Deadline{mono: receipt + p.Wait, set: true}) || p.Deadline.mono < receipt {
		t.Fatalf("Plan() = %#v; want a Deadline that is a Wait after %v", p, receipt)
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
	if p.Skew > math.MaxInt64-time.Hour || p.Skew == math.MinInt64 { // saturated
		wantAhead.Skew = got.Skew
	}
	if got != wantAhead || fmt.Sprint(gotErr) != fmt.Sprint(err) {
		t.Fatalf("Plan() = %#v, %v; an hour ahead, the error is %v; %s", p, err, gotErr, diff(got, wantAhead))
	}
}

// edges returns a generator of durations: the given ones, which are at bounds, those of up to
// two minutes, and any.
func edges(at ...time.Duration) *rapid.Generator[time.Duration] {
	asDuration := func(d int64) time.Duration { return time.Duration(d) }
	return rapid.OneOf(
		rapid.SampledFrom(at),
		rapid.Map(rapid.Int64Range(0, int64(2*time.Minute)), asDuration),
		rapid.Map(rapid.Int64(), asDuration),
	)
}

// Generators of what a plan depends on.
var (
	durations = edges(0, 1, -1, sec, 250*msec-1, 250*msec, 30*sec, 120*sec, 50*aYear-1, 50*aYear,
		50*aYear+1, math.MaxInt64-1, math.MaxInt64, math.MinInt64)
	bounded = rapid.Map(durations, func(d time.Duration) time.Duration { return d.Abs() % (50*aYear + 1) })

	// unixTimes are times that an HTTP-date can express, most of them near t0.
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
	oddValues = rapid.SampledFrom([]string{"", " ", "120, 60", "-1", "soon", d0 + ", " + d0})
)

// drawLines draws the field lines of one field: three times of four a single good one.
func drawLines(t *rapid.T, name string, values *rapid.Generator[string]) []string {
	if rapid.IntRange(0, 3).Draw(t, "odd "+name) > 0 {
		return []string{values.Draw(t, name)}
	}
	return rapid.SliceOfN(rapid.OneOf(values, oddValues), 0, 2).Draw(t, name)
}

func drawPlanInput(t *rapid.T) planInput {
	in := planInput{
		wall: t0.Add(durations.Draw(t, "skew")),
		header: http.Header{
			"Retry-After": drawLines(t, "Retry-After", rapid.OneOf(digitValues, dateValues)),
			"Date":        drawLines(t, "Date", dateValues),
			"Age":         drawLines(t, "Age", digitValues),
		},
		opts: Options{
			Attempt:       rapid.IntRange(0, math.MaxInt).Draw(t, "Attempt"),
			OnMissingDate: MissingDate(rapid.IntRange(0, 1).Draw(t, "OnMissingDate")),
		},
	}
	if rapid.Bool().Draw(t, "with a key") {
		in.opts.Jitter.Key = rapid.StringN(1, -1, 200).Draw(t, "Key")
	} else {
		place := rapid.Float64Range(0, 1).Draw(t, "place")
		in.opts.Jitter.Rand = func() float64 { return place }
	}
	// Half of the inputs have no option out of bounds, since few others make a plan.
	values := durations
	if rapid.Bool().Draw(t, "in bounds") {
		values = bounded
	}
	optional := func(name string, set func(time.Duration)) {
		if rapid.Bool().Draw(t, "with "+name) {
			set(values.Draw(t, name))
		}
	}
	optional("Spread", func(d time.Duration) { in.opts.Jitter.Spread = d })
	optional("MinWait", func(d time.Duration) { in.opts.MinWait = d })
	optional("MaxWait", func(d time.Duration) { in.opts.MaxWait = d })
	optional("Age", func(d time.Duration) { in.opts.Age = &d })
	optional("round trip", func(d time.Duration) {
		ago := rapid.SampledFrom([]time.Duration{0, sec, 50 * aYear}).Draw(t, "ago")
		in.opts.ResponseReceivedAt = in.wall.Add(-ago)
		in.opts.RequestSentAt = in.opts.ResponseReceivedAt.Add(-d)
	})
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
	t.Logf("%d of %d inputs made a plan", plans, inputs)
	if plans == 0 {
		t.Error("no input made a plan")
	}
}

// FuzzPlan takes the field lines of each field as one string, with line feeds between them.
func FuzzPlan(f *testing.F) {
	for _, c := range planCases {
		o, age := c.opts, time.Duration(-1)
		if o.Age != nil {
			age = *o.Age
		}
		ago := time.Duration(0)
		if !o.ResponseReceivedAt.IsZero() {
			ago = t0.Sub(o.ResponseReceivedAt)
		}
		line := func(name string) string { return strings.Join(c.header[name], "\n") }
		f.Add(line("Retry-After"), line("Date"), line("Age"), int64(0), o.Attempt, o.Jitter.Key, 0.5,
			int64(o.Jitter.Spread), int64(age), int64(o.MinWait), int64(o.MaxWait),
			int64(o.ResponseReceivedAt.Sub(o.RequestSentAt)), int64(ago), uint8(o.OnMissingDate))
	}
	f.Fuzz(func(t *testing.T, retryAfter, date, age string, ahead int64, attempt int, key string, place float64,
		spread, ageOption, minWait, maxWait, roundTrip, ago int64, onMissingDate uint8) {
		in := planInput{wall: t0.Add(time.Duration(ahead)), header: http.Header{}}
		for name, lines := range map[string]string{"Retry-After": retryAfter, "Date": date, "Age": age} {
			if lines != "" {
				in.header[name] = strings.Split(lines, "\n")
			}
		}
		in.opts = Options{
			Attempt: attempt, Jitter: Jitter{Key: key, Spread: time.Duration(spread)},
			MinWait: time.Duration(minWait), MaxWait: time.Duration(maxWait),
			OnMissingDate: MissingDate(onMissingDate),
		}
		if key == "" {
			in.opts.Jitter.Rand = func() float64 { return place }
		}
		if ageOption != -1 {
			in.opts.Age = ptr(time.Duration(ageOption))
		}
		if roundTrip != 0 || ago != 0 {
			in.opts.ResponseReceivedAt = in.wall.Add(-time.Duration(ago))
			in.opts.RequestSentAt = in.opts.ResponseReceivedAt.Add(-time.Duration(roundTrip))
		}
		checkPlan(t, in)
	})
}

// BenchmarkPlan plans from a header of the usual size. Dates are compared with the usual code
// on the same header, and delay-seconds, which the usual code finds too fast to compare, with
// time.Now.
func BenchmarkPlan(b *testing.B) {
	header := func(retryAfter string) http.Header {
		return http.Header{
			"Cache-Control": {"no-store"}, "Content-Length": {"33"}, "Content-Type": {"application/json"},
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
	now := func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	}
	usual := func(b *testing.B) {
		header := header(d30)
		for b.Loop() {
			naiveWait(header, time.Now())
		}
	}
	key := Options{Attempt: 3, Jitter: Jitter{Key: "client-7"}}
	versus(b, "date", "four-lines", usual, plan(header(d30), Options{}))
	versus(b, "key", "four-lines", usual, plan(header(d30), key))
	versus(b, "seconds", "time.Now", now, plan(header("120"), Options{}))
}
