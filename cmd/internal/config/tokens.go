package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/pfs/client"
)

// tokenFile stores the tokens of one endpoint, datacenter and user.
type tokenFile struct {
	name  string
	owner tokenOwner
}

// tokenOwner identifies the owner of the tokens in a file.
type tokenOwner struct {
	Endpoint   string `json:"endpoint"`
	Datacenter string `json:"datacenter"`
	Username   string `json:"username"`
}

// storedTokens is the content of a token file.
type storedTokens struct {
	tokenOwner
	client.Tokens
}

// newTokenFile returns the token file of an entry of the configuration file configName.
func newTokenFile(configName string, e Entry) tokenFile {
	owner := tokenOwner{Endpoint: e.Endpoint, Datacenter: e.Name, Username: e.Username}
	sum := sha256.Sum256([]byte(strings.Join([]string{owner.Endpoint, owner.Datacenter, owner.Username}, "\x00")))
	name := fmt.Sprintf("%s-%s", fileName(e.Name), hex.EncodeToString(sum[:8]))
	return tokenFile{name: filepath.Join(filepath.Dir(configName), "tokens", name), owner: owner}
}

// fileName converts a datacenter's name to a portable file name. The hash in it distinguishes names
// that would become equal.
func fileName(datacenter string) string {
	const most = 40
	name := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' {
			return r
		}
		return '_'
	}, datacenter)
	return name[:min(len(name), most)]
}

// lock waits until no other process changes the file.
func (t tokenFile) lock() (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(t.name), 0o700); err != nil {
		return nil, err
	}
	return lock(t.name + ".lock")
}

// load returns the zero Tokens if there are none, or none that can be read: a new login corrects
// that.
func (t tokenFile) load() (client.Tokens, error) {
	data, err := os.ReadFile(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return client.Tokens{}, nil
	}
	if err != nil {
		return client.Tokens{}, err
	}
	var s storedTokens
	if json.Unmarshal(data, &s) != nil || s.tokenOwner != t.owner {
		return client.Tokens{}, nil
	}
	return s.Tokens, nil
}

func (t tokenFile) save(tokens client.Tokens) error {
	data, err := json.MarshalIndent(storedTokens{t.owner, tokens}, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(t.name, append(data, '\n'))
}

func (t tokenFile) remove() error {
	err := os.Remove(t.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
