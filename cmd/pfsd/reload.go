package main

import (
	"cmp"
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
)

// followHangups reloads at every hangup until ctx is done.
func (s *service) followHangups(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			s.reload()
		}
	}
}

// reload reloads the certificate, reopens the audit log and applies changes of the configuration
// file that need no restart. Parts that fail stay unchanged.
func (s *service) reload() {
	if s.cert != nil {
		if err := s.cert.Reload(); err != nil {
			s.log.Error("certificate not reloaded, the old one stays in use", "err", err)
		} else {
			s.log.Info("certificate reloaded", "fingerprint", s.fingerprint())
			s.warnOfExpiry()
		}
	}
	s.reloadConfig()
	if s.audit != nil {
		if err := s.audit.Reopen(); err != nil {
			s.log.Error("audit log not reopened, the old one stays in use", "err", err)
		} else {
			s.log.Info("audit log reopened", "file", s.opts.auditLog)
		}
	}
}

// reloadConfig reads the configuration file again. It logs the changes that need a restart.
func (s *service) reloadConfig() {
	was := s.opts.file
	if was.file == "" {
		return
	}
	now, err := loadConfigFile(string(was.file))
	if err != nil {
		s.log.Error("configuration not reloaded, the old one stays in use", "err", cause(err))
		return
	}
	level := s.opts.logLevel
	if !s.opts.fixed["log-level"] {
		level = cmp.Or(now.get("log-level"), defaultLogLevel)
	}
	if err := setLevel(&s.level, level); err != nil {
		s.log.Error("log level stays as it was", "file", was.file, "err", err)
	}
	if changed := now.needRestart(was, s.opts.fixed); len(changed) > 0 {
		s.log.Warn("the configuration has changes that need a restart", "file", was.file, "options", strings.Join(changed, " "))
	}
	s.log.Info("configuration reloaded", "file", was.file)
}

// needRestart returns the names of the settings that differ from was and need a restart; options in
// fixed come from the command line.
func (f configFile) needRestart(was configFile, fixed map[string]bool) (names []string) {
	for name := range serveSettings() {
		if name != "log-level" && !fixed[name] && f.get(name) != was.get(name) {
			names = append(names, name)
		}
	}
	if !fixed["datacenter"] && !reflect.DeepEqual(f.datacenters, was.datacenters) {
		names = append(names, keyDatacenters)
	}
	if !reflect.DeepEqual(f.webhdfs, was.webhdfs) {
		names = append(names, keyWebHDFS)
	}
	slices.Sort(names)
	return names
}
