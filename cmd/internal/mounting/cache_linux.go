package mounting

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
)

// cached returns store with the cache that o asks for. user is the account that reads.
func (o options) cached(store tree, opts fuse.Options, user string) (tree, fuse.Options, error) {
	c := cachefs.Options{Identity: opts.Source, User: user, Logger: opts.Logger}
	if o.cacheSize != "" {
		var err error
		if c.Size, err = cliio.ParseSize(o.cacheSize); err != nil {
			return store, opts, cliargs.Usagef("--cache-size: %v", err)
		}
	}
	switch local := strings.HasPrefix(o.store, "file:"); {
	case o.cacheSize != "" && c.Size == 0, local && len(o.cacheDirs) == 0:
		return store, opts, nil
	case strings.HasPrefix(o.store, "mem:"): // its versions begin anew with each process
		return store, opts, nil
	case len(o.cacheDirs) > 0:
		for _, dir := range o.cacheDirs {
			dir, err := filepath.Abs(dir)
			if err != nil {
				return store, opts, err
			}
			c.Dirs = append(c.Dirs, dir)
		}
	default:
		dir, err := os.UserCacheDir()
		if err != nil {
			opts.Logger.Warn("nothing is cached; --cache-dir names a directory for it", "error", err)
			return store, opts, nil
		}
		c.Dirs = []string{filepath.Join(dir, "pfs")}
	}
	if o.store == "" {
		c.Public = isPublic
	}
	f, err := cachefs.New(store.FileSystem, c)
	if err != nil {
		return store, opts, err
	}
	closeStore := store.close
	store.FileSystem, store.close = f, func(ctx context.Context) error { return errors.Join(f.Close(), closeStore(ctx)) }
	opts.Cache = func() any { return f.Status() }
	opts.Warm = func(ctx context.Context, name pfs.Path, info pfs.Info) (any, error) { return f.Warm(ctx, name, info) }
	return store, opts, nil
}
