package convert

import (
	"math"
	"math/bits"
	"strconv"
)

// integer is the value of a JSON number without fraction and exponent.
type integer struct {
	negative bool
	abs      uint64 // undefined if big
	big      bool   // more than 64 bits and a sign
}

// parseInteger parses text, a valid JSON number, and reports whether it is an integer.
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

// Powers of ten that are exact as float64.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// signs classifies characters: bit 0 is set for a sign, bit 1 for minus.
var signs = [256]uint8{'+': 1, '-': 3}

// parseFloat returns the float64 nearest to text: a decimal number with an optional sign, fraction
// and exponent. Almost all texts are short, and are one exact integer and one exact power of ten,
// so that a single division rounds correctly. An overflow is an error.
func parseFloat(text []byte) (float64, bool) {
	if len(text) == 0 {
		return 0, false
	}
	// Half of a column may be negative: the table avoids a mispredicted branch.
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

// eightCharacters parses digits, with or without a point, of at most eight characters in all,
// without a loop: it loads one word, shifts out what follows the text, closes the gap of the point,
// and adds up the digits in pairs. It returns false for any other text, and if the array ends less
// than eight bytes after the start of text.
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

// eightDigits parses at most eight digits like eightCharacters.
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
			return 0, false // also excludes hexadecimal, underscores, inf and nan
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
