package retryafter

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// accepted is a value and the one instruction that it is.
type accepted struct {
	value string
	want  Instruction
	class string // what the case stands for
}

func delay(seconds int64) Instruction {
	return Instruction{Source: DelaySeconds, Delay: time.Duration(seconds) * time.Second}
}

func date(unix int64) Instruction {
	return Instruction{Source: HTTPDate, Date: time.Unix(unix, 0).UTC()}
}

var acceptedValues = []accepted{
	{"0", delay(0), "zero is an instruction"},
	{"1", delay(1), "the shortest wait"},
	{"120", delay(120), "RFC 9110's own example"},
	{"0120", delay(120), "not octal"},
	{"08", delay(8), "not octal, and not a fault of octal"},
	{"00", delay(0), "zero, twice"},
	{"2000", delay(2000), "not the year 2000"},
	{"20260804", delay(20260804), "not a date without dashes"},
	{" 120 ", delay(120), "optional blanks are not the value"},
	{"\t120", delay(120), "HTAB is a blank"},
	{" \t 120\t \t", delay(120), "so are several of both"},
	{"1577880000", delay(1577880000), "the last second inside the horizon"},
	{"2592000", delay(2592000), "30 days; past 31-bit milliseconds"},
	{"4294967", delay(4294967), "past 32-bit milliseconds"},
	{strings.Repeat("0", 100) + "30", delay(30), "leading zeros are not magnitude"},

	{"Tue, 04 Aug 2026 12:00:30 GMT", date(1785844830), "IMF-fixdate"},
	{"Sun, 06 Nov 1994 08:49:37 GMT", date(784111777), "RFC 9110's own example"},
	{"Sunday, 06-Nov-94 08:49:37 GMT", date(784111777), "RFC 850; the day name says 1994"},
	{"Sun Nov  6 08:49:37 1994", date(784111777), "asctime"},
	{"Tuesday, 04-Aug-26 12:00:30 GMT", date(1785844830), "RFC 850; the day name says 2026"},
	{"Tue Aug  4 12:00:30 2026", date(1785844830), "asctime, a blank and one digit"},
	{"Tue Aug 04 12:00:30 2026", date(1785844830), "2DIGIT day is in the grammar"},
	{"Fri Aug 14 12:00:30 2026", date(1786708830), "two digits by need"},
	{" Tue, 04 Aug 2026 12:00:30 GMT\t", date(1785844830), "blanks around a date"},
	{"Tuesday, 29-Feb-00 00:00:00 GMT", date(951782400), "2000 is a leap year"},
	{"Monday, 15-Jun-76 08:49:37 GMT", date(3359436577), "2076, not 1976"},
	{"Tuesday, 15-Jun-76 08:49:37 GMT", date(203676577), "1976, not 2076"},
	{"Saturday, 01-Jan-00 00:00:00 GMT", date(946684800), "2000"},
	{"Monday, 01-Jan-00 00:00:00 GMT", date(-2208988800), "1900"},
	{"Thursday, 31-Dec-99 23:59:59 GMT", date(4102444799), "2099, the last that RFC 850 can write"},
	{"Friday, 31-Dec-99 23:59:60 GMT", date(946684800), "1999, and the leap second ends it"},
	{"Sat, 31 Dec 2016 23:59:60 GMT", date(1483228800), "leap second rolls over"},
	{"Saturday, 31-Dec-16 23:59:60 GMT", date(1483228800), "in RFC 850 too"},
	{"Sat Dec 31 23:59:60 2016", date(1483228800), "and in asctime"},
	{"Tue, 04 Aug 2026 23:59:60 GMT", date(1785888000), "at the end of any day, for nobody knows the next one"},
	{"Thu, 29 Feb 2024 00:00:00 GMT", date(1709164800), "a leap day"},
	{"Tue, 29 Feb 2000 00:00:00 GMT", date(951782400), "400 years make a leap year"},
	{"Fri, 31 Dec 9999 23:59:59 GMT", date(253402300799), "the last instant the form can write"},
	{"Fri, 31 Dec 9999 00:00:00 GMT", date(253402214400), "the last day"},
	{"Thu, 30 Dec 9999 23:59:60 GMT", date(253402214400), "the last leap second"},
	{"Sat, 01 Jan 0000 00:00:00 GMT", date(-62167219200), "the first instant the form can write"},
	{"Tue, 29 Feb 0000 00:00:00 GMT", date(-62162121600), "the year 0 is a leap year"},
	{"Thu, 01 Jan 1970 00:00:00 GMT", date(0), "the epoch is a date like any other"},
	{"Wed, 31 Dec 1969 23:59:59 GMT", date(-1), "and so is the second before"},
}

// refused is a value and the sentinel that says why.
type refused struct {
	value string
	want  error
	class string
}

var refusedValues = []refused{
	{"", ErrEmpty, "nothing"},
	{"   ", ErrEmpty, "blanks are nothing"},
	{"\t \t", ErrEmpty, "of either kind"},

	{"-1", ErrDelaySyntax, "below zero"},
	{"-0", ErrDelaySyntax, "a sign, even on zero"},
	{"+30", ErrDelaySyntax, "a sign, which strconv.Atoi takes"},
	{"1.5", ErrDelaySyntax, "a fraction"},
	{"0.503", ErrDelaySyntax, "a fraction below one"},
	{"30.0", ErrDelaySyntax, "a fraction of nothing"},
	{"30.", ErrDelaySyntax, "a dot of nothing"},
	{".5", ErrDelaySyntax, "a fraction without digits before it"},
	{"1e3", ErrDelaySyntax, "an exponent"},
	{"0x10", ErrDelaySyntax, "hexadecimal"},
	{"0b1", ErrDelaySyntax, "binary"},
	{"1_000", ErrDelaySyntax, "Go's own digit separator"},
	{"1'000", ErrDelaySyntax, "another"},
	{"30s", ErrDelaySyntax, "a unit"},
	{"1m0s", ErrDelaySyntax, "what a Go duration prints as"},
	{"500ms", ErrDelaySyntax, "a unit below the second"},
	{"30 seconds", ErrDelaySyntax, "a unit in words"},
	{"1 2", ErrDelaySyntax, "a blank within"},
	{"120;q=1", ErrDelaySyntax, "a parameter"},
	{"120\x00", ErrDelaySyntax, "a control byte"},
	{"120\n", ErrDelaySyntax, "a newline is not a blank"},
	{"120\u00a0", ErrDelaySyntax, "nor is a no-break space"},
	{"1\u0662", ErrDelaySyntax, "an Arabic digit after an ASCII one"},
	{"-", ErrDelaySyntax, "a sign alone"},
	{"2026-08-04", ErrDelaySyntax, "ISO date without a time"},
	{"99999999999999999999x", ErrDelaySyntax, "far ahead, were it a number"},

	{"1577880001", ErrTooFarAhead, "one second past the horizon"},
	{"1785844830", ErrTooFarAhead, "Unix time in place of seconds"},
	{"1746136938", ErrTooFarAhead, "another, of 2025"},
	{"1785844830000", ErrTooFarAhead, "in milliseconds"},
	{"2147483648", ErrTooFarAhead, "past 31 bits"},
	{"4294967326", ErrTooFarAhead, "wraps to 30 in 32 bits"},
	{"9223372037", ErrTooFarAhead, "wraps a Duration negative"},
	{"18446744074", ErrTooFarAhead, "wraps to +290 ms"},
	{"9223372036854775807", ErrTooFarAhead, "the largest int64"},
	{"9223372036854775808", ErrTooFarAhead, "past int64"},
	{"18446744073709551646", ErrTooFarAhead, "wraps to 30 in 64 bits"},
	{"99999999999999999999999999999999999999", ErrTooFarAhead, "past everything"},
	{"15778800000", ErrTooFarAhead, "ten times the horizon, digit by digit still below it but for the last"},

	{"120, 60", ErrMultipleValues, "two delays"},
	{"30,120", ErrMultipleValues, "without the blank"},
	{"7, 7", ErrMultipleValues, "equal twice is still two"},
	{"120,", ErrMultipleValues, "an empty last member"},
	{", 120", ErrMultipleValues, "an empty first member"},
	{",", ErrMultipleValues, "two empty members"},
	{"-1, 5", ErrMultipleValues, "a list is the first thing wrong with it"},
	{"1.5,x", ErrMultipleValues, "whatever it holds"},
	{"12:00, 13:00", ErrMultipleValues, "times of day"},
	{"Tue, 04 Aug 2026 12:00:30 GMT, 120", ErrMultipleValues, "a date and a delay"},
	{"120, Tue, 04 Aug 2026 12:00:30 GMT", ErrMultipleValues, "a delay and a date"},
	{"Tue, 04 Aug 2026 12:00:30 GMT,", ErrMultipleValues, "a date and an empty member"},
	{"Tue, 04 Aug 2026 12:00:30 GMT, Tue, 04 Aug 2026 12:01:30 GMT", ErrMultipleValues, "two dates"},
	{"Tue Aug  4 12:00:30 2026, 120", ErrMultipleValues, "asctime has no comma of its own"},
	{"Tue,, 04 Aug 2026 12:00:30 GMT", ErrMultipleValues, "one comma too many"},
	{"Tue , 04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "a blank after the day name"},

	{"Tue, 04 Aug 2026 12:00:30 UTC", ErrNonGMTZone, "the same instant, in another word"},
	{"Tue, 04 Aug 2026 12:00:30 EST", ErrNonGMTZone, "which time.Parse takes as UTC"},
	{"Tue, 04 Aug 2026 12:00:30 +0000", ErrNonGMTZone, "a numeric zone"},
	{"Tue, 04 Aug 2026 12:00:30 -0500", ErrNonGMTZone, "one that is not zero"},
	{"Tue, 04 Aug 2026 12:00:30 Z", ErrNonGMTZone, "ISO 8601's"},
	{"Tue, 04 Aug 2026 12:00:30 gmt", ErrNonGMTZone, "case-sensitive"},
	{"Tue, 04 Aug 2026 12:00:30 GMT+1", ErrNonGMTZone, "an offset from it"},
	{"Tue, 04 Aug 2026 12:00:30 GM", ErrNonGMTZone, "cut short"},
	{"Tue, 04 Aug 2026 12:00:30", ErrNonGMTZone, "none"},
	{"Tue, 04 Aug 2026 12:00:30 GMT\x00", ErrNonGMTZone, "another word than GMT"},
	{"Tuesday, 04-Aug-26 12:00:30 PST", ErrNonGMTZone, "in RFC 850"},
	{"Tuesday, 04-Aug-26 12:00:30", ErrNonGMTZone, "none in RFC 850"},

	{"Mon, 30 Feb 2026 00:00:00 GMT", ErrNoSuchDay, "no year has it"},
	{"Sun, 29 Feb 2026 00:00:00 GMT", ErrNoSuchDay, "a common year"},
	{"Mon, 29 Feb 2100 00:00:00 GMT", ErrNoSuchDay, "a century is a common year"},
	{"Thu, 29 Feb 1900 00:00:00 GMT", ErrNoSuchDay, "and so was the last but one"},
	{"Sun, 00 Nov 1994 08:49:37 GMT", ErrNoSuchDay, "day zero"},
	{"Fri, 32 Jul 2026 00:00:00 GMT", ErrNoSuchDay, "no month has it"},
	{"Fri, 31 Apr 2026 00:00:00 GMT", ErrNoSuchDay, "April has 30"},
	{"Wed, 31 Jun 2026 00:00:00 GMT", ErrNoSuchDay, "June has 30"},
	{"Thu, 31 Sep 2026 00:00:00 GMT", ErrNoSuchDay, "September has 30"},
	{"Tue, 31 Nov 2026 00:00:00 GMT", ErrNoSuchDay, "November has 30"},
	{"Mon Feb 30 00:00:00 2026", ErrNoSuchDay, "in asctime"},
	{"Mon Aug  0 00:00:00 2026", ErrNoSuchDay, "day zero in asctime"},
	{"Monday, 30-Feb-26 00:00:00 GMT", ErrNoSuchDay, "in RFC 850, in either century"},
	{"Sunday, 29-Feb-26 00:00:00 GMT", ErrNoSuchDay, "neither 2026 nor 1926 was a leap year"},

	{"Tue, 04 Aug 2026 24:00:00 GMT", ErrTimeOfDay, "ISO 8601's end of day"},
	{"Tue, 04 Aug 2026 12:60:00 GMT", ErrTimeOfDay, "minute 60"},
	{"Tue, 04 Aug 2026 12:00:60 GMT", ErrTimeOfDay, "no leap second at noon"},
	{"Tue, 04 Aug 2026 23:58:60 GMT", ErrTimeOfDay, "nor a minute early"},
	{"Tue, 04 Aug 2026 22:59:60 GMT", ErrTimeOfDay, "nor an hour early"},
	{"Tue, 04 Aug 2026 23:59:61 GMT", ErrTimeOfDay, "nor two of them"},
	{"Tue, 04 Aug 2026 99:99:99 GMT", ErrTimeOfDay, "digits are not a time"},
	{"Fri, 31 Dec 9999 23:59:60 GMT", ErrTimeOfDay, "rolls into a year that the form cannot write"},
	{"Fri Dec 31 23:59:60 9999", ErrTimeOfDay, "the same in asctime"},
	{"Tuesday, 04-Aug-26 24:00:00 GMT", ErrTimeOfDay, "in RFC 850"},

	{"Mon, 04 Aug 2026 12:00:30 GMT", ErrDayNameMismatch, "the day before"},
	{"Wed, 04 Aug 2026 12:00:30 GMT", ErrDayNameMismatch, "the day after"},
	{"Wed, 04 Aug 2026 23:59:60 GMT", ErrDayNameMismatch, "a leap second is of the day that it ends"},
	{"Thu Aug  4 12:00:30 2026", ErrDayNameMismatch, "in asctime"},
	{"Friday, 04-Aug-26 12:00:30 GMT", ErrDayNameMismatch, "neither 2026 nor 1926"},
	{"Wednesday, 29-Feb-00 00:00:00 GMT", ErrDayNameMismatch, "a day of 2000 alone, and not that day"},

	{"tue, 04 Aug 2026 12:00:30 GMT", ErrDateName, "lower case"},
	{"TUE, 04 Aug 2026 12:00:30 GMT", ErrDateName, "upper case"},
	{"Tue, 04 aug 2026 12:00:30 GMT", ErrDateName, "the month in lower case"},
	{"Die, 04 Aug 2026 12:00:30 GMT", ErrDateName, "German"},
	{"Tue, 04 Mai 2026 12:00:30 GMT", ErrDateName, "a German month"},
	{"Tuesday, 04-AUG-26 12:00:30 GMT", ErrDateName, "upper case in RFC 850"},
	{"tuesday, 04-Aug-26 12:00:30 GMT", ErrDateName, "lower case in RFC 850"},
	{"Dienstag, 04-Aug-26 12:00:30 GMT", ErrDateName, "German in RFC 850"},
	{"Tues, 04-Aug-26 12:00:30 GMT", ErrDateName, "neither short nor long"},
	{"tue Aug  4 12:00:30 2026", ErrDateName, "lower case in asctime"},
	{"Tue aug  4 12:00:30 2026", ErrDateName, "the month in asctime"},

	{"inf", ErrDateSyntax, "a float"},
	{"NaN", ErrDateSyntax, "another"},
	{"never", ErrDateSyntax, "a word"},
	{"never, ever", ErrDateSyntax, "a comma straight after letters makes no list"},
	{"\u00b2", ErrDateSyntax, "superscript two"},
	{"\u0661\u0662", ErrDateSyntax, "Arabic digits"},
	{"\uff13\uff10", ErrDateSyntax, "full-width digits"},
	{"\u00a0120", ErrDateSyntax, "a no-break space is not a blank"},
	{"\x00120", ErrDateSyntax, "a control byte first"},
	{"\"120\"", ErrDateSyntax, "quoted"},
	{"@1785844830", ErrDateSyntax, "RFC 9651's date"},
	{"PT30S", ErrDateSyntax, "ISO 8601's duration"},
	{"2026-08-04T12:00:30Z", ErrDateSyntax, "ISO 8601"},
	{"2026-08-04 12:00:30", ErrDateSyntax, "SQL"},
	{"00:00:30", ErrDateSyntax, "a duration with colons"},
	{"-0:30", ErrDateSyntax, "and with a sign"},
	{"04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "no day name"},
	{"Tue, 4 Aug 2026 12:00:30 GMT", ErrDateSyntax, "one-digit day"},
	{"Tue,  4 Aug 2026 12:00:30 GMT", ErrDateSyntax, "asctime's day in IMF-fixdate"},
	{"Tuesday, 4-Aug-26 12:00:30 GMT", ErrDateSyntax, "one-digit day in RFC 850"},
	{"Tue, 04 Aug 26 12:00:30 GMT", ErrDateSyntax, "two-digit year"},
	{"Tue, 04 Aug 02026 12:00:30 GMT", ErrDateSyntax, "five-digit year"},
	{"Tuesday, 04-Aug-2026 12:00:30 GMT", ErrDateSyntax, "four-digit year in RFC 850"},
	{"Tue, 04 Aug 2026 7:00:30 GMT", ErrDateSyntax, "one-digit hour"},
	{"Tue, 04 Aug 2026 12:00 GMT", ErrDateSyntax, "no seconds"},
	{"Tue, 04-Aug-2026 12:00:30 GMT", ErrDateSyntax, "a cookie's date"},
	{"Tue, 04-Aug-26 12:00:30 GMT", ErrDateSyntax, "the short day name belongs to IMF-fixdate"},
	{"Tuesday, 04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "the long day name belongs to RFC 850"},
	{"Tuesday Aug  4 12:00:30 2026", ErrDateSyntax, "and not to asctime"},
	{"Su, 04-Aug-26 12:00:30 GMT", ErrDateSyntax, "two letters belong nowhere"},
	{"S, 04-Aug-26 12:00:30 GMT", ErrDateSyntax, "nor does one"},
	{"Tue Aug 4 12:00:30 2026", ErrDateSyntax, "one blank"},
	{"Tue Aug   4 12:00:30 2026", ErrDateSyntax, "three"},
	{"Tue Aug  4 12:00:30 2026 GMT", ErrDateSyntax, "asctime has no zone"},
	{"Tue Aug  4 12:00:30 GMT 2026", ErrDateSyntax, "date(1) has, but is not asctime"},
	{"Tue Aug  4 12:00:30 26", ErrDateSyntax, "two-digit year in asctime"},
	{"Tue, 04 Aug 2026 12.00.30 GMT", ErrDateSyntax, "dots"},
	{"Tue, 04 Aug 2026 12:00.30 GMT", ErrDateSyntax, "one dot"},
	{"Tue, 04 Aug 2026 12:00:30 GMT junk", ErrDateSyntax, "more than a zone"},
	{"Tue, 04 Aug 2026 12:00:30 GMT\tjunk", ErrDateSyntax, "HTAB parts words as well"},
	{"Tue, 04 Aug 2026 12:00:30 GMT (UTC)", ErrDateSyntax, "RFC 5322's comment"},
	{"Tue, 04 Aug 2026 12:00:30  GMT", ErrDateSyntax, "doubled blank"},
	{"Tue, 04 Aug 2026 12:00:30\tGMT", ErrDateSyntax, "HTAB in place of the blank"},
	{"Tue,  04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "doubled blank before the day"},
	{"Tue,04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "no blank"},
	{"Tue, 04 Aug 2026 12:00:30GMT", ErrDateSyntax, "no blank before the zone"},
	{"Tue, 04 Aug 2026 12:00:30Z", ErrDateSyntax, "nor before another"},
	{"Tue, 04 Aug 2026 12:00:30.5 GMT", ErrDateSyntax, "fraction"},
	{"Tue, 04 Aug 2026 12:00:-1 GMT", ErrDateSyntax, "a sign among the digits"},
	{"Tue, 04 Aug 2026 12:00:3x GMT", ErrDateSyntax, "a letter among the digits"},
	{"Tue, 0x Aug 2026 12:00:30 GMT", ErrDateSyntax, "in the day"},
	{"Tue, 04 A9g 2026 12:00:30 GMT", ErrDateSyntax, "a digit in the month"},
	{"Tue, 04 Aug 20\u0662 12:00:30 GMT", ErrDateSyntax, "an Arabic digit in two bytes"},
	{"Tuesday, 04-Aug-2x 12:00:30 GMT", ErrDateSyntax, "a letter in the year of RFC 850"},
	{"AAAA, 00-000-00 00:00:00 GMT", ErrDateSyntax, "a month of digits, whatever the day name"},
	{"T9e Aug  4 12:00:30 2026", ErrDateSyntax, "a digit in the day name, with no comma after it"},
	{"Tuesd4y, 04-Aug-26 12:00:30 GMT", ErrMultipleValues, "a comma after more than letters"},
	{"Tue Aug x4 12:00:30 2026", ErrDateSyntax, "a letter in the day of asctime"},
	{"Tue Aug  x 12:00:30 2026", ErrDateSyntax, "after the blank"},
	{"Mi\u00e9, 04 Aug 2026 12:00:30 GMT", ErrDateName, "nor is \u00e9 a letter of the grammar"},
	{"M\u00e9 04 Aug 2026 12:00:30 GMT", ErrDateSyntax, "three bytes, but not three letters"},
	{"Tue, 04 A\u00fa 2026 12:00:30 GMT", ErrDateName, "three bytes of a month, but not three letters"},
}

func TestParseRetryAfter(t *testing.T) {
	for _, c := range acceptedValues {
		t.Run(fmt.Sprintf("%.40q", c.value), func(t *testing.T) {
			got, err := ParseRetryAfter(c.value)
			if err != nil || got != c.want {
				t.Fatalf("got %+v, %v; want %+v (%s)", got, err, c.want, c.class)
			}
			// The canonical value is the same instruction, and is its own canonical value.
			again, err := ParseRetryAfter(got.String())
			if err != nil || again != got || again.String() != got.String() {
				t.Errorf("%q parses back to %+v, %v", got, again, err)
			}
			// Where net/http reads the value as well, it reads the same instant; but for
			// the second 60, which it refuses, and the century, which it takes to begin
			// with 69.
			if std, err := http.ParseTime(strings.Trim(c.value, " \t")); err == nil && got.Source == HTTPDate {
				if years := got.Date.Year() - std.Year(); years != 0 {
					std = std.AddDate(years, 0, 0)
				}
				if !std.Equal(got.Date) {
					t.Errorf("net/http reads %v", std)
				}
			}
		})
	}
	for _, c := range refusedValues {
		t.Run(fmt.Sprintf("%.40q", c.value), func(t *testing.T) {
			got, err := ParseRetryAfter(c.value)
			if !errors.Is(err, c.want) || got != (Instruction{}) {
				t.Fatalf("got %+v, %v; want the zero Instruction, %v (%s)", got, err, c.want, c.class)
			}
			var fe *FieldError
			if !errors.As(err, &fe) || fe.Field != "Retry-After" || fe.Value != c.value || fe.Err != c.want {
				t.Errorf("FieldError is %+v", fe)
			}
			// A blank on either side changes nothing.
			if _, err := ParseRetryAfter(" " + c.value + "\t"); !errors.Is(err, c.want) {
				t.Errorf("with blanks around it: %v", err)
			}
		})
	}
}

// TestFormsAgree writes dates in the forms that can write them and reads each back
// to the same instant: every day of 400 years, after which the calendar repeats
// itself, and one in 41 of the other 9,600. Every day that RFC 850 can write is
// among them, which shows that the day name always settles the century: a date of
// two readings would come back as the other one.
func TestFormsAgree(t *testing.T) {
	const day = 86400
	last := time.Date(9999, 12, 31, 8, 49, 37, 0, time.UTC)
	for want := time.Date(0, 1, 1, 8, 49, 37, 0, time.UTC); !want.After(last); {
		layouts, step := []string{http.TimeFormat, time.ANSIC}, int64(41*day)
		if year := want.Year(); 1699 <= year && year < 2100 {
			step = day
			if year >= 1900 {
				layouts = append(layouts, "Monday, 02-Jan-06 15:04:05 GMT")
			}
		}
		for _, layout := range layouts {
			value := want.Format(layout)
			if got, err := ParseRetryAfter(value); err != nil || got.Date != want {
				t.Fatalf("%q is read as %v, %v", value, got.Date, err)
			}
		}
		want = time.Unix(want.Unix()+step, 0).UTC()
	}
}

// TestOneByteWrong puts every byte into every place of each form, in place of the
// one there and before it, and cuts the form off there.
func TestOneByteWrong(t *testing.T) {
	for _, value := range []string{
		"120",
		"Tue, 04 Aug 2026 12:00:30 GMT",
		"Tuesday, 04-Aug-26 12:00:30 GMT",
		"Tue Aug  4 12:00:30 2026",
		"Fri, 31 Dec 9999 23:59:59 GMT",
		"Fri Dec 31 23:59:59 9999",
	} {
		for i := range value {
			checkParse(t, value[:i])
			for b := range 256 {
				wrong := string([]byte{byte(b)})
				checkParse(t, value[:i]+wrong+value[i+1:])
				checkParse(t, value[:i]+wrong+value[i:])
			}
		}
	}
}

func TestInstructionString(t *testing.T) {
	kathmandu := time.FixedZone("+0545", 5*3600+45*60)
	for _, c := range []struct {
		in   Instruction
		want string
	}{
		{Instruction{}, ""},
		{Instruction{Source: DelaySeconds, Delay: 1}, "1"},                   // rounded up
		{Instruction{Source: DelaySeconds, Delay: time.Second}, "1"},         // not further
		{Instruction{Source: DelaySeconds, Delay: 30*time.Second + 1}, "31"}, // at either end
		{Instruction{Source: DelaySeconds, Delay: -time.Hour}, "0"},          // there is no way to write less
		{Instruction{Source: DelaySeconds, Delay: -1}, "0"},
		{Instruction{Source: DelaySeconds, Delay: math.MaxInt64}, "9223372037"},                 // without a wrap
		{Instruction{Source: DelaySeconds, Delay: math.MinInt64}, "0"},                          // in either direction
		{Instruction{Source: HTTPDate}, "Mon, 01 Jan 0001 00:00:00 GMT"},                        // the zero time is one
		{Instruction{Source: HTTPDate, Date: time.Unix(0, 0)}, "Thu, 01 Jan 1970 00:00:00 GMT"}, // whatever the machine's zone
		{Instruction{Source: HTTPDate, Date: time.Unix(0, 0).In(kathmandu)}, "Thu, 01 Jan 1970 00:00:00 GMT"},
		{Instruction{Source: HTTPDate, Date: time.Unix(0, 1).In(kathmandu)}, "Thu, 01 Jan 1970 00:00:01 GMT"}, // never early
		{Instruction{Source: HTTPDate, Date: time.Unix(-1, 999999999)}, "Thu, 01 Jan 1970 00:00:00 GMT"},
	} {
		if got := c.in.String(); got != c.want {
			t.Errorf("%#v prints as %q, want %q", c.in, got, c.want)
		}
	}
	for source, want := range map[Source]string{0: "none", DelaySeconds: "delay-seconds", HTTPDate: "http-date", 9: "Source(9)"} {
		if got := source.String(); got != want {
			t.Errorf("Source %d prints as %q, want %q", source, got, want)
		}
	}
}

// TestNaiveParsing has the usual ways of reading the field go wrong, beside the
// one that does not.
func TestNaiveParsing(t *testing.T) {
	refuses := func(value string, want error) {
		t.Helper()
		if _, err := ParseRetryAfter(value); !errors.Is(err, want) {
			t.Errorf("ParseRetryAfter(%q): %v, want %v", value, err, want)
		}
	}

	// time.Parse has no offset for EST, unless that is a zone of this machine,
	// and takes it as zero: five hours early.
	local := time.Local
	time.Local = time.UTC
	defer func() { time.Local = local }()
	const est = "Tue, 04 Aug 2026 12:00:30 EST"
	if naive, err := time.Parse(time.RFC1123, est); err != nil || naive.Unix() != 1785844830 {
		t.Errorf("time.Parse(%q) = %v, %v: no longer offset zero", est, naive, err)
	}
	refuses(est, ErrNonGMTZone)

	// net/http.ParseTime compares no day name with the date, and no case.
	for value, want := range map[string]error{
		"Mon, 04 Aug 2026 12:00:30 GMT": ErrDayNameMismatch,
		"Tue, 04 aug 2026 12:00:30 GMT": ErrDateName,
	} {
		if naive, err := http.ParseTime(value); err != nil || naive.Unix() != 1785844830 {
			t.Errorf("http.ParseTime(%q) = %v, %v: no longer accepted", value, naive, err)
		}
		refuses(value, want)
	}

	// It refuses the leap second, which RFC 9110 has in its grammar.
	const leap = "Sat, 31 Dec 2016 23:59:60 GMT"
	if naive, err := http.ParseTime(leap); err == nil {
		t.Errorf("http.ParseTime(%q) = %v: no longer refused", leap, naive)
	}
	if in, err := ParseRetryAfter(leap); err != nil || in != date(1483228800) {
		t.Errorf("ParseRetryAfter(%q) = %v, %v", leap, in, err)
	}

	// strconv.Atoi takes a sign.
	if naive, err := strconv.Atoi("+30"); err != nil || naive != 30 {
		t.Errorf(`strconv.Atoi("+30") = %v, %v: no longer accepted`, naive, err)
	}
	refuses("+30", ErrDelaySyntax)

	// Seconds times time.Second wrap: into an immediate retry, or into the past.
	for value, want := range map[string]time.Duration{
		"18446744074": 290448384 * time.Nanosecond,
		"9223372037":  -9223372036709551616 * time.Nanosecond,
	} {
		seconds, _ := strconv.ParseInt(value, 10, 64)
		if naive := time.Duration(seconds) * time.Second; naive != want {
			t.Errorf("%s seconds wrap to %v, want %v", value, naive, want)
		}
		refuses(value, ErrTooFarAhead)
	}

	// Header.Get drops the second of two field lines.
	header := http.Header{"Retry-After": {"1", "120"}}
	if naive := header.Get("Retry-After"); naive != "1" {
		t.Errorf("Header.Get = %q: no longer the first line", naive)
	}
	if _, err := Plan(header, Options{}); !errors.Is(err, ErrMultipleValues) {
		t.Errorf("Plan with two field lines: %v, want %v", err, ErrMultipleValues)
	}
}

// TestRefusalIsCheap hands over a megabyte of each byte that might send some
// part of the parser looking through it again and again, or copying it.
func TestRefusalIsCheap(t *testing.T) {
	const size = 1 << 20
	values := map[string]error{strings.Repeat("1", size): ErrTooFarAhead, strings.Repeat(" ", size): ErrEmpty}
	for _, fill := range []string{"1", " ", "\t", ",", "a", "-", ":", "\x00", "\xff", "Tue, "} {
		values[strings.Repeat(fill, size/len(fill))+"!"] = nil // whichever
	}
	for value, want := range values {
		header := http.Header{"Retry-After": {value}}
		var err error
		for name, refuse := range map[string]func(){
			"ParseRetryAfter": func() { _, err = ParseRetryAfter(value) },
			"Plan":            func() { _, err = Plan(header, Options{}) },
		} {
			allocs := testing.AllocsPerRun(5, refuse)
			if err == nil || want != nil && !errors.Is(err, want) || allocs > 1 {
				t.Errorf("%s of a megabyte of %.5q: %v, %v allocations", name, value, err, allocs)
			} else if message := err.Error(); len(message) > 600 || !strings.Contains(message, " bytes)") {
				t.Errorf("%s of a megabyte of %.5q: %d bytes of message: %s", name, value, len(message), message)
			}
		}
	}
}

func TestParseAllocs(t *testing.T) {
	for _, c := range acceptedValues {
		if n := testing.AllocsPerRun(10, func() { ParseRetryAfter(c.value) }); n != 0 {
			t.Errorf("%q: %v allocations", c.value, n)
		}
	}
	for _, c := range refusedValues {
		if n := testing.AllocsPerRun(10, func() { ParseRetryAfter(c.value) }); n != 1 {
			t.Errorf("%q: %v allocations, want the error alone", c.value, n)
		}
	}
}

// plainForms are the shapes of HTTP-date, as loose as they can be told apart.
var plainForms = map[string]*regexp.Regexp{
	"IMF-fixdate": regexp.MustCompile(`(?s)^(...), (..) (...) (....) (..)(.)(..)(.)(..)(.*)$`),
	"RFC 850":     regexp.MustCompile(`(?s)^([^,]{4,}), (..)-(...)-(..) (..)(.)(..)(.)(..)(.*)$`),
	"asctime":     regexp.MustCompile(`(?s)^(...) (...) (..) (..)(.)(..)(.)(..) (....)$`),
}

var (
	digitsOnly  = regexp.MustCompile(`^[0-9]+$`)
	lettersOnly = regexp.MustCompile(`^[A-Za-z\x{80}-\x{ff}]+\.?$`) // of any language
	oneWordZone = regexp.MustCompile(`^( [^ \t]*)?$`)

	// A comma after a day name, of whatever language.
	dayNameFirst = regexp.MustCompile(`(?s)^([^0-9,]+),(.)`)

	// An IMF-fixdate whose names may be of any length.
	otherNames = regexp.MustCompile(`(?s)^([^,]*), ([0-9]{2}) ([^ ]*) [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}(.*)$`)
)

// plainParse reads Retry-After a second time, slowly, with the time package for
// the calendar. Its faults are all those that a value has, each found by itself:
// ParseRetryAfter may report any of them.
func plainParse(value string) (Instruction, []error) {
	// Each byte is a character here, so that a dot in a pattern is one byte.
	s := latin1(strings.Trim(value, " \t"))
	if s == "" {
		return Instruction{}, []error{ErrEmpty}
	}
	if digitsOnly.MatchString(s) {
		n, _ := new(big.Int).SetString(s, 10)
		if n.Cmp(big.NewInt(50*365.25*24*3600)) > 0 {
			return Instruction{}, []error{ErrTooFarAhead}
		}
		return delay(n.Int64()), nil
	}
	if strings.Contains(dayNameFirst.ReplaceAllString(s, "$1$2"), ",") {
		return Instruction{}, []error{ErrMultipleValues}
	}
	if strings.Contains("0123456789+-.", s[:1]) {
		if strings.Contains(s, ":") {
			return Instruction{}, []error{ErrDateSyntax}
		}
		return Instruction{}, []error{ErrDelaySyntax}
	}

	for form, shape := range plainForms {
		m := shape.FindStringSubmatch(s)
		if m == nil {
			continue
		}
		p := plainDate{dayName: m[1], day: m[2], month: m[3], year: m[4], clock: m[5:10], zone: m[len(m)-1]}
		switch form {
		case "asctime":
			p = plainDate{dayName: m[1], day: m[3], month: m[2], year: m[9], clock: m[4:9], zone: " GMT"}
			p.day = strings.Replace(p.day, " ", "0", 1)
			if strings.HasPrefix(m[3], "0 ") || m[3] == "  " || strings.HasSuffix(m[3], " ") {
				p.day = "??"
			}
		case "RFC 850":
			if len(p.dayName) > 3 && slices.Contains(longNames, p.dayName) {
				p.dayName = p.dayName[:3]
			} else if lettersOnly.MatchString(p.dayName) {
				p.dayName = "unknown"
			}
			// Of the two centuries take the one that fits, or else the later one.
			for _, century := range []string{"19", "20"} {
				q := p
				q.year = century + p.year
				in, faults := q.read()
				if faults == nil || century == "20" {
					return in, faults
				}
			}
		}
		return p.read()
	}
	if m := otherNames.FindStringSubmatch(s); m != nil && oneWordZone.MatchString(m[4]) &&
		lettersOnly.MatchString(m[1]) && lettersOnly.MatchString(m[3]) &&
		!(slices.Contains(longNames, m[1]) && slices.Contains(shortMonths, m[3])) {
		return Instruction{}, []error{ErrDateName}
	}
	return Instruction{}, []error{ErrDateSyntax}
}

var shortMonths = strings.Fields("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")

var longNames = []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

type plainDate struct {
	dayName, day, month, year string
	clock                     []string // hour, colon, minute, colon, second
	zone                      string
}

func (p plainDate) read() (Instruction, []error) {
	var faults []error
	found := func(err error, is bool) {
		if is {
			faults = append(faults, err)
		}
	}
	digits := p.day + p.year + p.clock[0] + p.clock[2] + p.clock[4]
	badShape := !digitsOnly.MatchString(digits) || p.clock[1]+p.clock[3] != "::" ||
		!lettersOnly.MatchString(p.dayName) || !lettersOnly.MatchString(p.month)
	oneWord := oneWordZone.MatchString(p.zone)
	found(ErrDateSyntax, badShape || !oneWord)
	found(ErrNonGMTZone, oneWord && p.zone != " GMT")

	month := 0
	for m := time.January; m <= time.December; m++ {
		if m.String()[:3] == p.month {
			month = int(m)
		}
	}
	knownDay := slices.ContainsFunc(longNames, func(long string) bool { return long[:3] == p.dayName })
	found(ErrDateName, !badShape && (month == 0 || !knownDay))
	if badShape || month == 0 {
		return Instruction{}, faults
	}

	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	year, day := number(p.year), number(p.day)
	hour, minute, second := number(p.clock[0]), number(p.clock[2]), number(p.clock[4])
	t := time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
	found(ErrNoSuchDay, t.Day() != day)
	found(ErrDayNameMismatch, knownDay && t.Day() == day && t.Format("Mon") != p.dayName)
	end := t.AddDate(0, 0, 1)
	t = t.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second)
	leap := hour == 23 && minute == 59 && second == 60 && end.Year() < 10000
	found(ErrTimeOfDay, (hour > 23 || minute > 59 || second > 59) && !leap)
	if faults != nil {
		return Instruction{}, faults
	}
	return Instruction{Source: HTTPDate, Date: t}, nil
}

// latin1 makes a string of one character for each byte.
func latin1(s string) string {
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}

// sixty is the second in which the time package and this one differ.
var sixty = regexp.MustCompile(`23:59:60`)

// checkParse holds for every value there is.
func checkParse(t *testing.T, value string) {
	got, err := ParseRetryAfter(value)
	want, faults := plainParse(value)
	if err != nil {
		var fe *FieldError
		if !errors.As(err, &fe) || fe.Value != value || got != (Instruction{}) {
			t.Fatalf("%q: %+v, %v", value, got, err)
		}
		if !slices.Contains(faults, fe.Err) {
			t.Fatalf("%q: %v, but the plain parser says %v, %v", value, err, want, faults)
		}
		return
	}
	if faults != nil || got != want {
		t.Fatalf("%q: %+v, but the plain parser says %+v, %v", value, got, want, faults)
	}
	if again, err := ParseRetryAfter(got.String()); err != nil || again != got {
		t.Fatalf("%q prints as %q, which is %+v, %v", value, got, again, err)
	}
	if got.Source == DelaySeconds || sixty.MatchString(value) {
		return
	}
	trimmed := strings.Trim(value, " \t")
	std, err := http.ParseTime(trimmed)
	if err != nil {
		t.Fatalf("%q: accepted, but net/http says %v", value, err)
	}
	if std.Year() != got.Date.Year() && strings.Contains(trimmed, "-") { // RFC 850, by another rule
		std = std.AddDate(got.Date.Year()-std.Year(), 0, 0)
	}
	if !std.Equal(got.Date) {
		t.Fatalf("%q: %v, but net/http says %v", value, got.Date, std)
	}
	if trimmed[3] == ',' && got.Date.Format(http.TimeFormat) != trimmed {
		t.Fatalf("%q: formats as %q", value, got.Date.Format(http.TimeFormat))
	}
}

func FuzzParseRetryAfter(f *testing.F) {
	for _, c := range acceptedValues {
		f.Add(c.value)
	}
	for _, c := range refusedValues {
		f.Add(c.value)
	}
	f.Fuzz(checkParse)
}

// versus runs a baseline and then what is measured against it, and reports the
// ratio of the two: the time of one by the median time of the other so far. With
// -count the ratios of all runs are of one median.
func versus(b *testing.B, name, baseline string, theirs, ours func(b *testing.B)) {
	perOp := func(b *testing.B) float64 { return float64(b.Elapsed()) / float64(b.N) }
	b.Run(name, func(b *testing.B) {
		var times []float64
		b.Run(baseline, func(b *testing.B) {
			b.ReportAllocs()
			theirs(b)
			times = append(times, perOp(b))
		})
		b.Run("retryafter", func(b *testing.B) {
			b.ReportAllocs()
			ours(b)
			slices.Sort(times)
			if len(times) > 0 { // or -bench has left the baseline out
				b.ReportMetric(perOp(b)/times[len(times)/2], "ratio")
			}
		})
	})
}

func BenchmarkParseRetryAfter(b *testing.B) {
	accepts := func(value string) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := ParseRetryAfter(value); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	parseTime := func(value string) func(b *testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := http.ParseTime(value); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	for _, c := range []struct{ form, value string }{
		{"IMF-fixdate", "Tue, 04 Aug 2026 12:00:30 GMT"},
		{"RFC850", "Tuesday, 04-Aug-26 12:00:30 GMT"},
		{"asctime", "Tue Aug  4 12:00:30 2026"},
	} {
		versus(b, c.form, "http.ParseTime", parseTime(c.value), accepts(c.value))
	}
	versus(b, "seconds", "strconv.Atoi", func(b *testing.B) {
		value := "120"
		for b.Loop() {
			if _, err := strconv.Atoi(value); err != nil {
				b.Fatal(err)
			}
		}
	}, accepts("120"))

	// A zone that both refuse; http.ParseTime takes a wrong one of letters.
	const wrongZone = "Tue, 04 Aug 2026 12:00:30 +0000"
	versus(b, "wrong-zone", "http.ParseTime", func(b *testing.B) {
		for b.Loop() {
			if _, err := http.ParseTime(wrongZone); err == nil {
				b.Fatal("accepted")
			}
		}
	}, func(b *testing.B) {
		for b.Loop() {
			if _, err := ParseRetryAfter(wrongZone); err == nil {
				b.Fatal("accepted")
			}
		}
	})
}
