package sasl

import (
	"crypto/cipher"
	"crypto/des"
	"crypto/rc4"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// cipherNames are the supported ciphers of DIGEST-MD5, in the order of Java.
var cipherNames = []string{"3des", "rc4"}

func chooseCipher(offered []string) (string, error) {
	for _, name := range cipherNames {
		if slices.Contains(offered, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("the server offers the ciphers %v, none of %v", offered, cipherNames)
}

// sealer encrypts or decrypts the messages of one direction, which is one stream.
type sealer struct {
	stream cipher.Stream    // rc4
	blocks cipher.BlockMode // 3des
}

// newSealer returns the cipher of one direction with its key of 16 bytes.
func newSealer(name string, key []byte, encrypts bool) (sealer, error) {
	switch name {
	case "rc4":
		c, err := rc4.NewCipher(key)
		return sealer{stream: c}, err
	case "3des":
		first, second := desKey(key[:7]), desKey(key[7:14])
		c, err := des.NewTripleDESCipher(slices.Concat(first, second, first))
		if err != nil {
			return sealer{}, err
		}
		if encrypts {
			return sealer{blocks: cipher.NewCBCEncrypter(c, key[8:])}, nil
		}
		return sealer{blocks: cipher.NewCBCDecrypter(c, key[8:])}, nil
	}
	return sealer{}, fmt.Errorf("unknown cipher %q", name)
}

// padding returns the number of bytes that follow a message of n bytes before it is encrypted.
func (s sealer) padding(n int) int {
	if s.blocks == nil {
		return 0
	}
	return des.BlockSize - n%des.BlockSize
}

// seal encrypts in place.
func (s sealer) seal(p []byte) {
	if s.blocks == nil {
		s.stream.XORKeyStream(p, p)
		return
	}
	s.blocks.CryptBlocks(p, p)
}

// open decrypts in place and returns the message without its padding. The last mac bytes belong to the
// signature and come after the padding.
func (s sealer) open(p []byte, mac int) (message, signature []byte, err error) {
	if s.blocks != nil && len(p)%des.BlockSize != 0 || len(p) < mac {
		return nil, nil, errors.New("the length is wrong")
	}
	s.seal(p)
	message, signature = p[:len(p)-mac], p[len(p)-mac:]
	if s.blocks == nil {
		return message, signature, nil
	}
	if len(message) == 0 {
		return nil, nil, errors.New("the padding is missing")
	}
	n := int(message[len(message)-1])
	if n == 0 || n > des.BlockSize || n > len(message) {
		return nil, nil, errors.New("the padding is wrong")
	}
	for _, b := range message[len(message)-n:] {
		if int(b) != n {
			return nil, nil, errors.New("the padding is wrong")
		}
	}
	return message[:len(message)-n], signature, nil
}

// desKey spreads 56 bits over 8 bytes with odd parity.
func desKey(p []byte) []byte {
	var all uint64
	for _, b := range p {
		all = all<<8 | uint64(b)
	}
	key := make([]byte, 8)
	for i := range key {
		b := byte(all>>(49-7*i)) << 1
		key[i] = b | byte(1-bits.OnesCount8(b)%2)
	}
	return key
}
