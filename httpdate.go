package retryafter

import (
	"strings"
	"time"
)

// parseHTTPDate parses an HTTP-date, RFC 9110 §5.6.7. The fourth byte tells the
// forms apart:
//
//	Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate, the form to send
//	Sun Nov  6 08:49:37 1994          asctime, obsolete
//	Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
//
// It returns the first error found, not yet in a FieldError.
func parseHTTPDate(s string) (time.Time, error) {
	switch {
	case len(s) > 3 && s[3] == ',':
		return parseIMFFixdate(s)
	case len(s) > 3 && s[3] == ' ':
		return parseAsctime(s)
	}
	return parseRFC850(s)
}

// IMF-fixdate = day-name "," SP date1 SP time-of-day SP GMT
func parseIMFFixdate(s string) (time.Time, error) {
	const form = "Sun, 06 Nov 1994 08:49:37"
	if len(s) < len(form) || s[4] != ' ' || s[7] != ' ' || s[11] != ' ' || s[16] != ' ' {
		return time.Time{}, ErrDateSyntax
	}
	if zone := s[25:]; zone != gmt {
		return time.Time{}, zoneError(zone)
	}
	dayName := s[0:3]                                         // Sun
	day := twoDigits(s[5:7])                                  // 06
	month := s[8:11]                                          // Nov
	century, year := twoDigits(s[12:14]), twoDigits(s[14:16]) // 19, 94
	timeOfDay := s[17:25]                                     // 08:49:37
	return utc(dayName, day, month, 100*century+year, timeOfDay)
}

// asctime-date = day-name SP month SP ( 2DIGIT / ( SP 1DIGIT )) SP time-of-day SP year
func parseAsctime(s string) (time.Time, error) {
	const form = "Sun Nov  6 08:49:37 1994"
	if len(s) != len(form) || s[7] != ' ' || s[10] != ' ' || s[19] != ' ' {
		return time.Time{}, ErrDateSyntax
	}
	dayName := s[0:3]                                         // Sun
	month := s[4:7]                                           // Nov
	day := twoDigits(s[8:10])                                 // 06
	timeOfDay := s[11:19]                                     // 08:49:37
	century, year := twoDigits(s[20:22]), twoDigits(s[22:24]) // 19, 94
	if s[8] == ' ' {
		day = digit(s[9]) // 6
	}
	return utc(dayName, day, month, 100*century+year, timeOfDay)
}

// rfc850-date = day-name-l "," SP 2DIGIT "-" month "-" 2DIGIT SP time-of-day SP GMT
func parseRFC850(s string) (time.Time, error) {
	const form = ", 06-Nov-94 08:49:37"
	dayName, _, _ := strings.Cut(s, ",") // Sunday; a long name has at least six letters
	s = s[len(dayName):]
	if len(dayName) < 4 || len(s) < len(form) || s[1] != ' ' || s[4] != '-' || s[8] != '-' || s[11] != ' ' {
		return time.Time{}, ErrDateSyntax
	}
	if zone := s[20:]; zone != gmt {
		return time.Time{}, zoneError(zone)
	}
	day := twoDigits(s[2:4])   // 06
	month := s[5:8]            // Nov
	year := twoDigits(s[9:11]) // 94
	timeOfDay := s[12:20]      // 08:49:37
	// RFC 9110 interprets the two digits by the recipient's clock, which must not be
	// trusted here. The day name settles it: 100 years are never a whole number of
	// weeks, so a date falls on different weekdays in the two centuries. Any other
	// error than ErrDayNameMismatch holds for both, since every day of 19yy exists in
	// 20yy.
	t, err := utc(dayName, day, month, 2000+year, timeOfDay)
	if err == ErrDayNameMismatch {
		if t, err := utc(dayName, day, month, 1900+year, timeOfDay); err == nil {
			return t, nil
		}
	}
	return t, err
}

const (
	gmt = " GMT"

	// lastUnix is 31 Dec 9999 23:59:59, the last second that a four-digit year can
	// express.
	lastUnix = 253402300799
)

// utc checks the parts of a date against the grammar and the calendar, and
// returns the instant. A negative day or year was not digits. RFC 9110 §5.6.7
// requires, by way of RFC 5322 §3.3, that the day name is that of the date.
func utc(dayName string, day int, monthName string, year int, timeOfDay string) (time.Time, error) {
	hour := twoDigits(timeOfDay[0:2])
	minute := twoDigits(timeOfDay[3:5])
	second := twoDigits(timeOfDay[6:8])
	if (year|day|hour|minute|second) < 0 || timeOfDay[2] != ':' || timeOfDay[5] != ':' {
		return time.Time{}, ErrDateSyntax
	}
	weekday, month := parseWeekday(dayName), parseMonth(monthName)
	if weekday < 0 || month < 0 {
		return time.Time{}, nameError(dayName, monthName)
	}
	if day < 1 || day > 28 && day > daysIn(month, year) { // daysIn is rarely called
		return time.Time{}, ErrNoSuchDay
	}
	// The grammar of RFC 9110 allows second 60, a leap second. One is only ever
	// inserted at the end of a UTC day, so 60 is accepted only there. It becomes the
	// first second of the next day.
	leap := hour == 23 && minute == 59 && second == 60
	if hour > 23 || minute > 59 || second > 59 && !leap {
		return time.Time{}, ErrTimeOfDay
	}
	days := dayNumber(uint(year), uint(month), uint(day))
	if int((days+2)%7) != weekday { // (unixEpoch+2)%7 is 4, a Thursday
		return time.Time{}, ErrDayNameMismatch
	}
	unix := (int64(days)-unixEpoch)*86400 + int64(hour*3600+minute*60+second)
	if unix > lastUnix { // a leap second at the end of 9999
		return time.Time{}, ErrTimeOfDay
	}
	return time.Unix(unix, 0).UTC(), nil
}

// zoneError returns the error for what follows the time of day instead of GMT:
// ErrNonGMTZone for one word or nothing, otherwise ErrDateSyntax.
func zoneError(zone string) error {
	if zone == "" || zone[0] == ' ' && !strings.ContainsAny(zone[1:], " \t") {
		return ErrNonGMTZone
	}
	return ErrDateSyntax
}

// nameError returns ErrDateName if both names could be names in some language,
// otherwise ErrDateSyntax.
func nameError(dayName, monthName string) error {
	if isName(dayName) && isName(monthName) {
		return ErrDateName
	}
	return ErrDateSyntax
}

// isName reports whether s could be a name in some language, or its abbreviation with
// a dot: it consists only of ASCII letters and of bytes outside ASCII, such as
// "août", "mar." and "Вт".
func isName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	for i := range len(s) {
		lower := s[i] | 0x20
		if s[i] < 0x80 && (lower < 'a' || lower > 'z') {
			return false
		}
	}
	return s != ""
}

// hasUnknownName reports whether the day name, the month or both are unknown, and the
// rest has the shape of an IMF-fixdate: "mié, 04 ago 2026 12:00:30 GMT". The names may
// have any length. It returns false if both names are known.
func hasUnknownName(s string) bool {
	const form = "2026 12:00:30"
	dayName, s, _ := strings.Cut(s, ", ")
	day, s, _ := strings.Cut(s, " ")
	month, s, _ := strings.Cut(s, " ")
	if len(day) != 2 || len(s) < len(form) || s[4] != ' ' || nameError(dayName, month) != ErrDateName ||
		parseWeekday(dayName) >= 0 && parseMonth(month) >= 0 {
		return false
	}
	year, timeOfDay, zone := 100*twoDigits(s[0:2])+twoDigits(s[2:4]), s[5:13], s[13:]
	// "Sun" and "Jan" replace the names. Only the shape counts, so every other error
	// will do.
	_, err := utc("Sun", twoDigits(day), "Jan", year, timeOfDay)
	return err != ErrDateSyntax && zoneError(zone) != ErrDateSyntax
}

// parseWeekday returns the weekday (Sunday is 0) of a short or long day name, or -1.
// The other two forms pass three letters, so only RFC 850 can match a long name.
func parseWeekday(name string) int {
	switch name {
	case "Sun", "Sunday":
		return 0
	case "Mon", "Monday":
		return 1
	case "Tue", "Tuesday":
		return 2
	case "Wed", "Wednesday":
		return 3
	case "Thu", "Thursday":
		return 4
	case "Fri", "Friday":
		return 5
	case "Sat", "Saturday":
		return 6
	}
	return -1
}

// parseMonth returns the number of the month (January is 1), or -1. HTTP-date is
// case-sensitive.
func parseMonth(name string) int {
	switch name {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return -1
}

func daysIn(month, year int) int {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// dayNumber returns a day count in which 1 January 1970 is unixEpoch. As in package
// time, years start in March so that the leap day comes last: (153m-457)/5 is 0, 31,
// 61, 92, ... for March, April, May, June, ... time.Date gives the same and takes
// twice as long. Unsigned division is cheaper, and nothing here is negative.
func dayNumber(year, month, day uint) uint {
	year += 400 // one calendar cycle, so that January of year 0 (year -1 here) stays positive
	if month < 3 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*month-457)/5 + day
}

const unixEpoch = 865566 // dayNumber(1970, 1, 1), a Thursday

// notDigits stands for bytes that are not digits; it is so negative that every sum
// it enters stays negative.
const notDigits = -1 << 20

func digit(c byte) int {
	if c < '0' || c > '9' {
		return notDigits
	}
	return int(c - '0')
}

func twoDigits(s string) int { return 10*digit(s[0]) + digit(s[1]) }
