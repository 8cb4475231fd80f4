package auth

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

const (
	// The cost of new hashes: memory in KiB, passes, lanes.
	argonMemory  = 19456
	argonPasses  = 2
	argonLanes   = 1
	argonSaltLen = 16
	argonKeyLen  = 32

	// The maximum cost of imported hashes.
	maxArgonMemory = 64 << 10
	maxArgonPasses = 16
	maxBcryptCost  = 14
)

// passwordHash is a hash to check passwords against.
type passwordHash interface {
	matches(password []byte) bool
}

// argonHash is an argon2id hash in the PHC form $argon2id$v=19$m=19456,t=2,p=1$salt$key.
type argonHash struct {
	memory, passes uint32
	lanes          uint8
	salt, key      []byte
}

func (h *argonHash) matches(password []byte) bool {
	return subtle.ConstantTimeCompare(h.derive(password), h.key) == 1
}

// derive derives a key from a password, of the same length as h's.
func (h *argonHash) derive(password []byte) []byte {
	return argon2.IDKey(password, h.salt, h.passes, h.memory, h.lanes, uint32(len(h.key)))
}

func (h *argonHash) String() string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, h.memory, h.passes, h.lanes, b64(h.salt), b64(h.key))
}

// bcryptHash is a hash made by another program.
type bcryptHash []byte

func (h bcryptHash) matches(password []byte) bool {
	return bcrypt.CompareHashAndPassword(h, password) == nil
}

// parseHash parses a password hash. It refuses hashes that are too expensive to check.
func parseHash(s string) (passwordHash, error) {
	switch {
	case strings.HasPrefix(s, "$argon2id$"):
		return parseArgon(s)
	case strings.HasPrefix(s, "$2"):
		return parseBcrypt(s)
	}
	return nil, errors.New("neither argon2id nor bcrypt")
}

func parseBcrypt(s string) (passwordHash, error) {
	cost, err := bcrypt.Cost([]byte(s))
	if err != nil || len(s) != 60 {
		return nil, errors.New("malformed bcrypt hash")
	}
	if cost > maxBcryptCost {
		return nil, fmt.Errorf("bcrypt cost %d, the limit is %d", cost, maxBcryptCost)
	}
	return bcryptHash(s), nil
}

func parseArgon(s string) (passwordHash, error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[2] != "v=19" {
		return nil, errors.New("malformed argon2id hash: $argon2id$v=19$m=...,t=...,p=...$salt$key is needed")
	}
	costs, err := parseCosts(parts[3])
	if err != nil {
		return nil, err
	}
	salt, err := decodeB64(parts[4], 8, 64)
	if err != nil {
		return nil, fmt.Errorf("salt of an argon2id hash: %w", err)
	}
	key, err := decodeB64(parts[5], 16, 64)
	if err != nil {
		return nil, fmt.Errorf("key of an argon2id hash: %w", err)
	}
	return &argonHash{memory: costs[0], passes: costs[1], lanes: uint8(costs[2]), salt: salt, key: key}, nil
}

// parseCosts parses "m=...,t=...,p=...".
func parseCosts(s string) (costs [3]uint32, err error) {
	bounds := [3]struct {
		name     string
		min, max uint32
	}{{"m=", 8, maxArgonMemory}, {"t=", 1, maxArgonPasses}, {"p=", 1, math.MaxUint8}}
	fields := strings.Split(s, ",")
	if len(fields) != len(bounds) {
		return costs, fmt.Errorf("argon2id parameters %q: m=...,t=...,p=... is needed", s)
	}
	for i, b := range bounds {
		digits, ok := strings.CutPrefix(fields[i], b.name)
		n, err := strconv.ParseUint(digits, 10, 32)
		if !ok || err != nil || uint32(n) < b.min || uint32(n) > b.max {
			return costs, fmt.Errorf("argon2id parameter %q: %sN with N between %d and %d is needed", fields[i], b.name, b.min, b.max)
		}
		costs[i] = uint32(n)
	}
	if costs[0] < 8*costs[2] {
		return costs, errors.New("argon2id needs 8 KiB of memory for each lane")
	}
	return costs, nil
}

func decodeB64(s string, least, most int) ([]byte, error) {
	b, err := base64.RawStdEncoding.Strict().DecodeString(s)
	if err != nil {
		return nil, errors.New("not base64 without padding")
	}
	if len(b) < least || len(b) > most {
		return nil, fmt.Errorf("%d bytes, between %d and %d are allowed", len(b), least, most)
	}
	return b, nil
}
