package convert

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// pickleTime is a date, time, datetime or timedelta of Python's module datetime: the type of a
// column, and a count of its unit.
type pickleTime struct {
	typ   string
	count int64
}

// pickleZone is a timezone with a fixed offset from UTC.
type pickleZone struct{ offset time.Duration }

// The types of pickled times.
const (
	dateType      = "date"
	timeType      = "time[us]"
	durationType  = "duration[us]"
	timestampType = "timestamp[us" // followed by the zone, if any, and a bracket
)

// timeBytes returns the n bytes in which Python pickles a date, time or datetime.
func timeBytes(v any, n int) []byte {
	t, ok := v.(*pickleText)
	if !ok || t.far != 0 {
		return nil
	}
	data, err := t.load(nil)
	if err != nil || len(data) != n {
		return nil
	}
	return data
}

// dateOf returns the midnight that begins the date in b. The first bit of the month is the fold.
func dateOf(b []byte) (time.Time, bool) {
	year, month, day := int(binary.BigEndian.Uint16(b)), time.Month(b[2]&0x7f), int(b[3])
	t := time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	return t, year >= 1 && year <= 9999 && t.Month() == month && t.Day() == day
}

// clockOf returns the time since midnight in b.
func clockOf(b []byte) (time.Duration, bool) {
	us := time.Duration(b[3])<<16 | time.Duration(b[4])<<8 | time.Duration(b[5])
	return time.Duration(b[0])*time.Hour + time.Duration(b[1])*time.Minute + time.Duration(b[2])*time.Second + us*time.Microsecond,
		b[0] < 24 && b[1] < 60 && b[2] < 60 && us < 1e6
}

// makeDate implements date(bytes).
func (u *unpickler) makeDate(args []any) (any, error) {
	if len(args) == 1 {
		if b := timeBytes(args[0], 4); b != nil {
			if day, ok := dateOf(b); ok {
				return &pickleTime{dateType, day.Unix() / (24 * 60 * 60)}, nil
			}
		}
	}
	return nil, u.badArgs("date")
}

// makeTime implements time(bytes).
func (u *unpickler) makeTime(args []any) (any, error) {
	if len(args) == 2 {
		return nil, faultf(ErrUnsupported, "offset %d: a time of day with a zone; a record holds times without", u.e.offset)
	}
	if len(args) == 1 {
		if b := timeBytes(args[0], 6); b != nil {
			b = append([]byte{b[0] & 0x7f}, b[1:]...) // without the fold
			if clock, ok := clockOf(b); ok {
				return &pickleTime{timeType, clock.Microseconds()}, nil
			}
		}
	}
	return nil, u.badArgs("time")
}

// makeDateTime implements datetime(bytes) and datetime(bytes, zone).
func (u *unpickler) makeDateTime(args []any) (any, error) {
	if len(args) != 1 && len(args) != 2 {
		return nil, u.badArgs("datetime")
	}
	b := timeBytes(args[0], 10)
	if b == nil {
		return nil, u.badArgs("datetime")
	}
	day, ok := dateOf(b)
	clock, ok2 := clockOf(b[4:])
	if !ok || !ok2 {
		return nil, u.badArgs("datetime")
	}
	t, typ := day.Add(clock), timestampType
	if len(args) == 2 {
		zone, ok := args[1].(*pickleZone)
		if !ok {
			return nil, u.badArgs("datetime")
		}
		t, typ = t.Add(-zone.offset), typ+","+zone.String()
	}
	return &pickleTime{typ + "]", t.UnixMicro()}, nil
}

// makeTimeDelta implements timedelta(days, seconds, microseconds), with the last ones optional.
func (u *unpickler) makeTimeDelta(args []any) (any, error) {
	const mostDays = 999_999_999
	var parts [3]int64
	ok := len(args) <= len(parts)
	for i := 0; ok && i < len(args); i++ {
		parts[i], ok = args[i].(int64)
	}
	days, seconds, us := parts[0], parts[1], parts[2]
	if !ok || max(days, -days) > mostDays || seconds < 0 || seconds >= 24*60*60 || us < 0 || us >= 1e6 {
		return nil, u.badArgs("timedelta")
	}
	const longest = 100_000_000 // days, whose microseconds fit into 64 bits
	if max(days, -days) > longest {
		return nil, faultf(ErrLimit, "offset %d: a timedelta of %d days; at most %d fit into microseconds of 64 bits", u.e.offset, days, longest)
	}
	return &pickleTime{durationType, (days*24*60*60+seconds)*1e6 + us}, nil
}

// makeZone implements timezone(timedelta) and timezone(timedelta, name), without the name.
func (u *unpickler) makeZone(args []any) (any, error) {
	if len(args) != 1 && len(args) != 2 {
		return nil, u.badArgs("timezone")
	}
	delta, ok := args[0].(*pickleTime)
	if !ok || delta.typ != durationType || max(delta.count, -delta.count) >= (24*time.Hour).Microseconds() {
		return nil, u.badArgs("timezone")
	}
	offset := time.Duration(delta.count) * time.Microsecond
	if offset%time.Minute != 0 {
		return nil, faultf(ErrUnsupported, "offset %d: a timezone of %v; only whole minutes can be recorded", u.e.offset, offset)
	}
	return &pickleZone{offset}, nil
}

// String returns the zone as in the type of a column.
func (z *pickleZone) String() string {
	if z.offset == 0 {
		return "UTC"
	}
	sign, minutes := "+", int(z.offset/time.Minute)
	if minutes < 0 {
		sign, minutes = "-", -minutes
	}
	return fmt.Sprintf("%s%02d:%02d", sign, minutes/60, minutes%60)
}

// learning is a Decoder that knows the columns of its input after the last sample only.
type learning interface {
	// learned returns the columns, nil if there were no samples, and an empty list if the samples
	// have no columns in common.
	learned() []Column
}

func (d *pickleDecoder) learned() []Column { return d.columns }

// learn adds the columns of a sample.
func (d *pickleDecoder) learn(item any) {
	if d.columns != nil && len(d.columns) == 0 {
		return
	}
	columns := columnsOf(item)
	if d.columns == nil {
		d.columns = columns
	} else if sameColumns(d.columns, columns) != nil {
		d.columns = []Column{}
	}
}

// columnsOf returns the columns of a sample; an empty list if it is not a map, tuple or list of
// plain values, or one of them.
func columnsOf(item any) []Column {
	var names, values []any
	switch v := item.(type) {
	case *pickleDict:
		names, values = v.keys, v.values
	case pickleTuple:
		values = v
	case *pickleList:
		values = v.items
	default:
		if typ := columnType(item); typ != "" {
			return []Column{{Type: typ}}
		}
		return []Column{}
	}
	if names == nil && len(values) == 1 { // one column without a name is the record
		return []Column{}
	}
	columns := make([]Column, len(values))
	for i, value := range values {
		if names != nil {
			name, ok := textOf(names[i])
			if !ok || name == "" {
				return []Column{}
			}
			columns[i].Name = name
		}
		if columns[i].Type = columnType(value); columns[i].Type == "" {
			return []Column{}
		}
	}
	return columns
}

// columnType returns the type of a plain value, "" for any other.
func columnType(v any) string {
	switch v := v.(type) {
	case nil:
		return nullType
	case bool:
		return TypeBool.String()
	case int64:
		return TypeInt.String()
	case float64:
		return TypeFloat.String()
	case *pickleTime:
		return v.typ
	case *pickleArray:
		return v.typ.typeText(v.shape)
	case *pickleText:
		switch {
		case v.decimal:
			return decimalType
		case v.kind == unicodeText, v.kind == oldText && v.far == 0 && utf8.Valid(v.data):
			return TypeText.String()
		case v.kind == byteText && !v.array:
			return TypeBytes.String()
		}
	}
	return ""
}

// haveTimes reports whether a column has times, which are numbers without it.
func haveTimes(columns []Column) bool {
	return slices.ContainsFunc(columns, func(c Column) bool {
		return c.Type == dateType || c.Type == timeType || c.Type == durationType || strings.HasPrefix(c.Type, timestampType)
	})
}
