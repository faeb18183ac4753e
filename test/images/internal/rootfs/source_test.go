package rootfs_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"lockstep.dev/lockstep/test/images/internal/rootfs"
)

const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

func TestReadSources(t *testing.T) {
	type want struct {
		sources []rootfs.Source
		err     string
	}
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   want
	}{
		"Deb822": {
			reason: "every URI with every suite is a source; comments and other stanzas do not disturb",
			files: map[string]string{"sources.list.d/debian.sources": `Types: deb
# a remark
URIs: http://mirror.example/debian http://other.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: ` + debianKeys + `

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main
`},
			want: want{sources: []rootfs.Source{
				{URI: "http://mirror.example/debian", Suite: "bookworm", Components: []string{"main", "contrib"}, SignedBy: debianKeys},
				{URI: "http://mirror.example/debian", Suite: "bookworm-updates", Components: []string{"main", "contrib"}, SignedBy: debianKeys},
				{URI: "http://other.example/debian", Suite: "bookworm", Components: []string{"main", "contrib"}, SignedBy: debianKeys},
				{URI: "http://other.example/debian", Suite: "bookworm-updates", Components: []string{"main", "contrib"}, SignedBy: debianKeys},
				{URI: "http://mirror.example/debian-security", Suite: "bookworm-security", Components: []string{"main"}},
			}},
		},
		"Deb822FieldsOfAnyCaseOverLines": {
			reason: "field names ignore case, values may continue on indented lines, line ends may be CRLF",
			files: map[string]string{"sources.list.d/x.sources": "types: deb\r\nuris:\r\n http://mirror.example/debian\r\nSUITES: trixie\r\nComponents:\r\n main\r\n\tcontrib\r\n" +
				"Check-Valid-Until: no\r\nTrusted: yes\r\n"},
			want: want{sources: []rootfs.Source{{
				URI: "http://mirror.example/debian", Suite: "trixie", Components: []string{"main", "contrib"},
				Options: []string{"check-valid-until=no", "trusted=yes"},
			}}},
		},
		"Deb822KeyInside": {
			reason: "a key written into the stanza is not a path",
			files: map[string]string{"sources.list.d/x.sources": "Types: deb\nURIs: http://mirror.example/debian\nSuites: trixie\nComponents: main\n" +
				"Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----\n"},
			want: want{sources: []rootfs.Source{{URI: "http://mirror.example/debian", Suite: "trixie", Components: []string{"main"}}}},
		},
		"Deb822Disabled": {
			reason: "apt ignores a stanza with Enabled: no, and so do we; sources of source packages are of no use",
			files: map[string]string{"sources.list.d/x.sources": "Enabled: no\nTypes: deb\nURIs: http://a.example\nSuites: trixie\n\n" +
				"Types: deb-src\nURIs: http://b.example\nSuites: trixie\n"},
		},
		"OneLine": {
			reason: "plain lines, lines with options, comments, source packages, a CD",
			files: map[string]string{"sources.list": `# deb http://old.example/debian bullseye main
deb http://mirror.example/debian bookworm main contrib # the one
deb-src http://mirror.example/debian bookworm main

deb	[ arch=amd64 signed-by=` + debianKeys + ` trusted=yes ]  http://mirror.example/debian trixie main
deb [arch=amd64] http://vendor.example/apt ./
`},
			want: want{sources: []rootfs.Source{
				{URI: "http://mirror.example/debian", Suite: "bookworm", Components: []string{"main", "contrib"}},
				{URI: "http://mirror.example/debian", Suite: "trixie", Components: []string{"main"}, SignedBy: debianKeys, Options: []string{"trusted=yes"}},
				{URI: "http://vendor.example/apt", Suite: "./", Components: []string{}},
			}},
		},
		"OnlyFilesOfApt": {
			reason: "apt ignores other extensions",
			files:  map[string]string{"sources.list.d/vendor.list.disabled": "nonsense", "sources.list.d/README": "nonsense"},
		},
		"Nothing":      {reason: "no file is no source"},
		"UnknownType":  {reason: "names file and line", files: map[string]string{"sources.list.d/a.list": "\nrpm http://x y z\n"}, want: want{err: `sources.list.d/a.list: line 2: type "rpm": want deb or deb-src`}},
		"OpenOptions":  {reason: "names file and line", files: map[string]string{"sources.list": "deb [arch=amd64 http://x y z\n"}, want: want{err: "sources.list: line 1: options are not closed by ]"}},
		"TooShort":     {reason: "names file and line", files: map[string]string{"sources.list": "deb http://x\n"}, want: want{err: "sources.list: line 1: want deb [options] URI SUITE [COMPONENT…]"}},
		"NoField":      {reason: "names file and line", files: map[string]string{"sources.list.d/a.sources": "Types: deb\nnonsense\n"}, want: want{err: `line 2: "nonsense": want Field: value`}},
		"Continuation": {reason: "names file and line", files: map[string]string{"sources.list.d/a.sources": " main\n"}, want: want{err: "line 1: continues a field"}},
		"NoURIs":       {reason: "names file and line", files: map[string]string{"sources.list.d/a.sources": "Types: deb\nSuites: trixie\n"}, want: want{err: "stanza before line 3: want URIs and Suites"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			etcApt := fstest.MapFS{}
			for file, text := range tc.files {
				etcApt[file] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := rootfs.ReadSources(etcApt)
			if (err != nil) != (tc.want.err != "") || err != nil && !strings.Contains(err.Error(), tc.want.err) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.want.err)
			}
			if diff := cmp.Diff(tc.want.sources, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestArchive(t *testing.T) {
	vendor := rootfs.Source{URI: "https://vendor.example", Suite: "bookworm", Components: []string{"main"}, SignedBy: "/etc/apt/keyrings/vendor.gpg"}
	main := rootfs.Source{URI: "http://mirror.example/debian", Suite: "bookworm", Components: []string{"main"}, SignedBy: debianKeys}
	security := rootfs.Source{URI: "http://mirror.example/debian-security", Suite: "bookworm-security", Components: []string{"main"}}
	odd := rootfs.Source{URI: "http://mirror.example/pool", Suite: "stable", Components: []string{"contrib", "main"}, Options: []string{"trusted=yes"}}
	docker := rootfs.Source{URI: "https://docker.example/linux/debian", Suite: "bookworm", Components: []string{"stable"}}
	ubuntu := rootfs.Source{URI: "http://archive.example/ubuntu", Suite: "noble", Components: []string{"main"}}
	cases := map[string]struct {
		reason  string
		sources []rootfs.Source
		want    rootfs.Source
		none    bool
	}{
		"OwnRelease": {
			reason:  "the machine's mirror, components and keys, another suite",
			sources: []rootfs.Source{security, main},
			want:    rootfs.Source{URI: main.URI, Suite: "trixie", Components: main.Components, SignedBy: debianKeys},
		},
		"VendorFirst": {
			reason:  "a vendor that uses Debian's suite and component names, but its own key, is not Debian",
			sources: []rootfs.Source{vendor, docker, main},
			want:    rootfs.Source{URI: main.URI, Suite: "trixie", Components: main.Components, SignedBy: debianKeys},
		},
		"ByRole": {
			reason:  "a machine may follow stable, and trust an archive without signature",
			sources: []rootfs.Source{vendor, odd},
			want:    rootfs.Source{URI: odd.URI, Suite: "trixie", Components: odd.Components, Options: odd.Options},
		},
		"Ubuntu":  {reason: "Ubuntu's archive has no Debian suites", sources: []rootfs.Source{ubuntu, docker}, none: true},
		"Nothing": {reason: "no sources at all", none: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := rootfs.Archive(tc.sources, "trixie")
			if errors.Is(err, rootfs.ErrNoDebian) != tc.none {
				t.Fatalf("%s: error %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := rootfs.Archive([]rootfs.Source{ubuntu, docker}, "trixie"); !strings.Contains(err.Error(), "suites bookworm, noble") {
		t.Errorf("the error does not say what was found: %v", err)
	}
	if main.Suite != "bookworm" {
		t.Error("Archive changed its argument")
	}
}

// Whatever the files hold, reading them ends in sources that have a URI and a suite, or in an error.
func FuzzReadSources(f *testing.F) {
	f.Add("deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n", "Types: deb\nURIs: http://a\nSuites: b\n\n")
	f.Add("deb [ http://x", "Types: deb\n continued\n\n\n:\n")
	f.Add("deb []] [ ] #", "#\n: deb\nEnabled: NO\n")
	f.Fuzz(func(t *testing.T, list, stanzas string) {
		sources, err := rootfs.ReadSources(fstest.MapFS{
			"sources.list":             {Data: []byte(list)},
			"sources.list.d/a.sources": {Data: []byte(stanzas)},
		})
		for _, s := range sources {
			if s.URI == "" || s.Suite == "" {
				t.Errorf("source without URI or suite: %+v", s)
			}
		}
		if err != nil && sources != nil {
			t.Errorf("both sources and an error: %v", err)
		}
	})
}
