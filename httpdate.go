package retryafter

import (
	"strings"
	"time"
)

// parseHTTPDate reads an HTTP-date, RFC 9110 §5.6.7. The byte after the first
// three tells the forms apart:
//
//	Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate, the form to send
//	Sun Nov  6 08:49:37 1994          asctime, obsolete
//	Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, obsolete
//
// Its errors are the bare sentinels, of several faults the first one met.
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
		return time.Time{}, zoneFault(zone)
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
	dayName, _, _ := strings.Cut(s, ",") // Sunday; fewer than four letters are no long name
	s = s[len(dayName):]
	if len(dayName) < 4 || len(s) < len(form) || s[1] != ' ' || s[4] != '-' || s[8] != '-' || s[11] != ' ' {
		return time.Time{}, ErrDateSyntax
	}
	if zone := s[20:]; zone != gmt {
		return time.Time{}, zoneFault(zone)
	}
	day := twoDigits(s[2:4])   // 06
	month := s[5:8]            // Nov
	year := twoDigits(s[9:11]) // 94
	timeOfDay := s[12:20]      // 08:49:37
	// RFC 9110 reads the two digits by the recipient's clock, which is the very
	// thing not to rely on. The day name tells as much: 100 years are 5 or 6 days
	// more than whole weeks, so no date has the same day name in both centuries.
	// Any other fault is one in both, since 19yy has no day that 20yy has not.
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

	// lastUnix is 31 Dec 9999 23:59:59, the last second that a date with a
	// four-digit year can write.
	lastUnix = 253402300799
)

// utc checks the parts of a date against the grammar and the calendar, and
// returns the instant. A day or year below zero is one that was not digits.
func utc(dayName string, day int, monthName string, year int, timeOfDay string) (time.Time, error) {
	hour := twoDigits(timeOfDay[0:2])
	minute := twoDigits(timeOfDay[3:5])
	second := twoDigits(timeOfDay[6:8])
	if year|day|hour|minute|second < 0 || timeOfDay[2] != ':' || timeOfDay[5] != ':' {
		return time.Time{}, ErrDateSyntax
	}
	weekday, month := parseWeekday(dayName), parseMonth(monthName)
	if weekday < 0 || month == 0 {
		return time.Time{}, nameFault(dayName, monthName)
	}
	if day < 1 || day > 28 && day > daysIn(month, year) { // every month has 28
		return time.Time{}, ErrNoSuchDay
	}
	// A leap second is inserted at the end of a UTC day (RFC 9110's second is
	// 00 to 60), and this arithmetic lets it roll into the next one.
	leap := hour == 23 && minute == 59 && second == 60
	if hour > 23 || minute > 59 || second > 59 && !leap {
		return time.Time{}, ErrTimeOfDay
	}
	days := dayNumber(uint(year), uint(month), uint(day))
	if int((days+2)%7) != weekday {
		return time.Time{}, ErrDayNameMismatch
	}
	unix := (int64(days)-unixEpoch)*86400 + int64(hour*3600+minute*60+second)
	if unix > lastUnix {
		return time.Time{}, ErrTimeOfDay
	}
	return time.Unix(unix, 0).UTC(), nil
}

// zoneFault names the fault in a value where something other than GMT follows
// the time of day: it is the zone if that is one word, or nothing, and else the
// shape.
func zoneFault(zone string) error {
	if zone == "" || zone[0] == ' ' && !strings.ContainsAny(zone[1:], " \t") {
		return ErrNonGMTZone
	}
	return ErrDateSyntax
}

// nameFault tells names that are not in the grammar from bytes that are no names,
// which are a fault of the shape.
func nameFault(dayName, monthName string) error {
	if leadingLetters(dayName) < len(dayName) || leadingLetters(monthName) < len(monthName) {
		return ErrDateSyntax
	}
	return ErrDateName
}

// parseWeekday is the number of a day name, short or long, counted from Sunday; and -1
// of any other. RFC 850 has the long names, the other forms take three letters.
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

// parseMonth is 0 for a name that is not a month's; case-sensitive, as all of
// HTTP-date is.
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
	return 0
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

// dayNumber numbers the days; 1 January 1970 is unixEpoch. Its years start in
// March, so that the leap day comes last and the months before a month need no
// exception: (153m-457)/5 is 0, 31, 61, 92, ... for March, April, May, June, ...
// time.Date would do as well, at the cost of all the rest of the date together.
// Nothing in it is below zero, and unsigned numbers are cheaper to divide.
func dayNumber(year, month, day uint) uint {
	year += 400 // a whole cycle of the calendar: January of the year 0 is in the year -1
	if month < 3 {
		year--
		month += 12
	}
	return 365*year + year/4 - year/100 + year/400 + (153*month-457)/5 + day
}

const unixEpoch = 865566 // dayNumber(1970, 1, 1), a Thursday

// notDigits is what the functions below make of bytes that are not all digits:
// so far below zero that it stays there, whatever is added to it.
const notDigits = -1 << 20

func digit(c byte) int {
	if c < '0' || c > '9' {
		return notDigits
	}
	return int(c - '0')
}

func twoDigits(s string) int { return 10*digit(s[0]) + digit(s[1]) }

// leadingLetters counts the ASCII letters that s begins with.
func leadingLetters(s string) int {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' { // 0x20: either case
			return i
		}
	}
	return len(s)
}
