package convert

import (
	"math"
	"math/bits"
	"strconv"
)

// integer is the value of a JSON number without fraction and exponent.
type integer struct {
	negative bool
	abs      uint64 // meaningless if big
	big      bool   // does not fit 64 bits and a sign
}

// parseInteger reads the digits of text, which a JSON scanner has accepted, and
// reports whether it is an integer at all.
func parseInteger(text []byte) (v integer, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		v.negative, text = true, text[1:]
	}
	for _, c := range text {
		d := uint64(c - '0')
		if d > 9 {
			return integer{}, false
		}
		if v.abs > (math.MaxUint64-d)/10 {
			v.big = true
		}
		v.abs = v.abs*10 + d
	}
	return v, len(text) > 0
}

// signed returns v as an int64, if it fits.
func (v integer) signed() (int64, bool) {
	switch {
	case v.big:
		return 0, false
	case v.negative:
		return -int64(v.abs), v.abs <= 1<<63
	}
	return int64(v.abs), v.abs <= math.MaxInt64
}

// unsigned returns v as a uint64, if it fits.
func (v integer) unsigned() (uint64, bool) { return v.abs, !v.big && !v.negative }

// fits reports whether v is an int64 or a uint64.
func (v integer) fits() bool { return !v.big && (!v.negative || v.abs <= 1<<63) }

// powers of ten that are exact as float64.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// signs says of a character whether it is a sign, in bit 0, and negative, in bit 1.
var signs = [256]uint8{'+': 1, '-': 3}

// parseFloat reads text as the nearest float64: a decimal number with an optional
// sign, fraction and exponent. Short ones, which almost all are, are one exact
// integer and one exact power of ten, so that a single division rounds correctly.
// An overflow is not a number.
func parseFloat(text []byte) (float64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	// Half of a column may be negative: a table asks without a jump that is guessed wrong.
	sign := signs[text[0]]
	i := int(sign & 1)
	if mantissa, fraction, ok := eightCharacters(text[i:]); ok {
		v := float64(mantissa) / powers[fraction&7]
		return math.Float64frombits(math.Float64bits(v) | uint64(sign>>1)<<63), true
	}
	var mantissa uint64
	first := i
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(text[i]-'0')
	}
	n, fraction := i-first, 0
	if i < len(text) && text[i] == '.' {
		i++
		first = i
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(text[i]-'0')
		}
		fraction = i - first
	}
	n += fraction
	if i < len(text) || n == 0 || n > 19 || mantissa > 1<<53 || fraction >= len(powers) {
		return parseFloatSlowly(text)
	}
	v := float64(mantissa) / powers[fraction]
	if text[0] == '-' {
		v = -v
	}
	return v, true
}

// eightCharacters reads digits, with a point among them or not, that are no more
// than eight characters in all, without a step for each: it takes one word, shifts
// out what stands behind the text, closes the gap of the point, and adds up the
// digits in pairs. It answers false for any other text, and where the array ends
// less than eight bytes behind the start of text.
func eightCharacters(text []byte) (mantissa uint64, fraction int, ok bool) {
	word, ok := differences(text)
	if !ok {
		return 0, 0, false
	}
	digits := len(text)
	if point := matching(word, ones*('.'^'0')); point != 0 {
		at := bits.TrailingZeros64(point) &^ 7
		before := uint64(1)<<at - 1
		word = word&before<<8 | word&^(before<<8|0xff)
		fraction = 7 - at/8
		digits--
	}
	if digits <= 0 || !areDigits(word) {
		return 0, 0, false
	}
	return addDigits(word), fraction, true
}

// eightDigits reads no more than eight digits as eightCharacters does.
func eightDigits(text []byte) (v uint64, ok bool) {
	word, ok := differences(text)
	if !ok || !areDigits(word) {
		return 0, false
	}
	return addDigits(word), true
}

func parseFloatSlowly(text []byte) (float64, bool) {
	for _, c := range text {
		if !decimal(c) {
			return 0, false // also keeps out hexadecimal, underscores, inf and nan
		}
	}
	v, err := strconv.ParseFloat(string(text), 64)
	return v, err == nil
}

// decimal reports whether c can be part of a decimal number.
func decimal(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+'
}

// halfFloat returns the value of an IEEE 754 half-precision number.
func halfFloat(bits uint16) float32 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	var v float64
	switch exponent {
	case 0:
		v = math.Ldexp(fraction, -24)
	case 0x1f:
		v = math.Inf(1)
		if fraction != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(fraction+1024, exponent-25)
	}
	if bits>>15 != 0 {
		v = -v
	}
	return float32(v)
}
