package convert

import "encoding/binary"

// Eight characters are processed at once, as a little-endian word: the first of them is its lowest
// byte.

// ones times a character is a word of eight such characters.
const ones = 0x0101010101010101

// matching sets the highest bit of each byte of word that equals the byte repeated in eight.
func matching(word, eight uint64) uint64 {
	const low = ones * 0x7f
	word ^= eight
	return ^((word & low) + low | word | low)
}

// differences converts one to eight characters to their digit values, in the highest bytes of a
// word, after zeros. It returns false for any other text, and if the array ends less than eight
// bytes after the start of text.
func differences(text []byte) (word uint64, ok bool) {
	if len(text) == 0 || len(text) > 8 || cap(text) < 8 {
		return 0, false
	}
	return (binary.LittleEndian.Uint64(text[:8]) ^ ones*'0') << (64 - 8*len(text)), true
}

// areDigits reports whether each byte of word is below ten.
func areDigits(word uint64) bool { return (word+ones*(0x80-10)|word)&(ones<<7) == 0 }

// addDigits returns the number whose eight digits are in word.
func addDigits(word uint64) uint64 {
	word = word * (10<<8 + 1) >> 8
	word = word & 0x00ff00ff00ff00ff * (100<<16 + 1) >> 16
	return word & 0x0000ffff0000ffff * (10000<<32 + 1) >> 32
}
