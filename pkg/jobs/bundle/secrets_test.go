package bundle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podWith returns a pod with a command and annotations.
func podWith(args []string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: "train-launcher", Namespace: "team", Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "node", Command: []string{"train"}, Args: args}}},
	}
}

// arguments are the ways to hand a value to a program under a name.
var arguments = map[string]func(name, value string) []string{
	"flag, value":    func(n, v string) []string { return []string{"--epochs", "3", "--" + n, v, "--lr", "0.1"} },
	"flag=value":     func(n, v string) []string { return []string{"--" + n + "=" + v, "--epochs=3"} },
	"short dash":     func(n, v string) []string { return []string{"-" + n, v} },
	"twice":          func(n, v string) []string { return []string{"--" + n, "first-one", "--" + n, v} },
	"several":        func(n, v string) []string { return []string{"--" + n + "s", "first-one", v, "--lr", "0.1"} },
	"commas":         func(n, v string) []string { return []string{"--" + n, "first-one," + v} },
	"with a prefix":  func(n, v string) []string { return []string{"--trainer.logger." + n, v} },
	"key=value":      func(n, v string) []string { return []string{"trainer.logger." + n + "=" + v} },
	"-e NAME=value":  func(n, v string) []string { return []string{"-e", variable(n) + "=" + v, "-np", "4"} },
	"-x NAME=value":  func(n, v string) []string { return []string{"mpirun", "-x", variable(n) + "=" + v} },
	"sh":             func(n, v string) []string { return []string{"sh", "-c", "train --" + n + " '" + v + "' --epochs 3"} },
	"sh, double":     func(n, v string) []string { return []string{"sh", "-c", "train --" + n + " \"" + v + "\" --epochs 3"} },
	"sh, assignment": func(n, v string) []string { return []string{"sh", "-c", variable(n) + "='" + v + "' train --epochs 3"} },
	"sh, flag=value": func(n, v string) []string { return []string{"sh", "-c", "train --" + n + "='" + v + "' --epochs 3"} },
	"sh, next line": func(n, v string) []string {
		return []string{"sh", "-c", "train \\\n  --" + n + " \\\n  '" + v + "' \\\n --lr 1"}
	},
	"header":       func(n, v string) []string { return []string{"curl", "-H", "X-" + n + ": " + v} },
	"bearer":       func(_, v string) []string { return []string{"curl", "-H", "Authorization: Bearer " + v} },
	"JSON as text": func(n, v string) []string { return []string{"--more", asJSON([]string{"--" + n, v, "--lr"})} },
	"JSON of settings": func(n, v string) []string {
		return []string{"--config", asJSON(map[string]any{"db": map[string]string{n: v}})}
	},
	"JSON of objects": func(n, v string) []string {
		return []string{asJSON(map[string]string{"name": variable(n), "value": v})}
	},
}

// printed are the ways in which a program prints what it was given.
var printed = map[string]func(name, value string) string{
	"JSON":        func(n, v string) string { return "args: " + asJSON([]string{"--" + n, v, "--lr", "0.1"}) },
	"spaced JSON": func(n, v string) string { return `["--` + n + `", "` + v + `"]` },
	"JSON in JSON": func(n, v string) string {
		return asJSON(map[string]string{"msg": asJSON([]string{"a", "--" + n, v, "b"})})
	},
	"indented JSON": func(n, v string) string { return "[\n  \"--" + n + "\",\n  \"" + v + "\"\n]" },
	"Python":        func(n, v string) string { return "argv: ['train.py', '--" + n + "', '" + v + "', '--lr']" },
	"Go":            func(n, v string) string { return fmt.Sprintf("%q", []string{"--" + n, v}) },
	"YAML":          func(n, v string) string { return "args:\n- --" + n + "\n- " + v + "\n- --lr" },
	"quoted YAML":   func(n, v string) string { return "  - \"--" + n + "\"\n  - \"" + v + "\"\n  - --lr" },
	"YAML in JSON": func(n, v string) string {
		return asJSON(map[string]string{"spec": "args:\n- --" + n + "\n- '" + v + "'\n"})
	},
	"variables in YAML": func(n, v string) string { return "env:\n- name: " + variable(n) + "\n  value: " + v + "\n- name: X" },
	"variables in JSON": func(n, v string) string { return asJSON(corev1.EnvVar{Name: variable(n), Value: v}) },
	"environment":       func(n, v string) string { return "HOME=/root\n" + variable(n) + "='" + v + "'\nX=1" },
	"shell":             func(n, v string) string { return "+ train --" + n + " '" + v + "' --lr 0.1" },
}

func variable(name string) string {
	return "MY_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var (
	secretNames  = []string{"api-key", "api_key", "token", "hf-token", "password", "db.passwd", "client-secret", "credential", "aws_secret_access_key"}
	secretValues = []string{password, "Swordfish77", "p@ss w0rd/+==", "ünïcode-geheim", "a+b/c=d&e;f12"}
)

// A value that its name makes a secret is in no file of the bundle, whatever the shape of the list that has both, and in whichever order things
// are added.
func TestSecretArguments(t *testing.T) {
	for _, name := range secretNames {
		for _, value := range secretValues {
			for shape, args := range arguments {
				isWord := strings.HasSuffix(shape, "E=value") || shape == "key=value" || shape == "header"
				switch {
				case shape == "several" && name == "credential": // a file of credentials is one
					continue
				case isWord && strings.Contains(value, " "), shape == "bearer" && url.QueryEscape(value) != value:
					continue
				}
				bundleHides(t, shape, name, value, func(b *Bundle) error {
					return b.AddObject("pods/launcher.yaml", podWith(args(name, value), nil))
				})
			}
			for shape, text := range printed {
				lines := text(name, value)
				bundleHides(t, "printed "+shape, name, value, func(b *Bundle) error {
					for line := range strings.SplitSeq(lines, "\n") {
						b.AddLine("logs/node.log", "2026-03-01T12:00:00.123456789Z [1,0]<stdout>:"+line)
					}
					return nil
				})
				bundleHides(t, "annotated "+shape, name, value, func(b *Bundle) error {
					return b.AddObject("pods/launcher.yaml", podWith(nil, map[string]string{"note": lines}))
				})
			}
		}
	}
}

func bundleHides(t *testing.T, shape, name, value string, add func(*Bundle) error) {
	t.Helper()
	b := New("train")
	mention := "connecting with " + value + ", " + url.QueryEscape(value) + " and " + base64.StdEncoding.EncodeToString([]byte(value)) + ", epoch 3"
	b.AddLine("logs/before.log", mention)
	if err := add(b); err != nil {
		t.Fatal(err)
	}
	b.AddLine("logs/after.log", mention)
	if err := b.AddObject("other.yaml", podWith([]string{mention}, nil)); err != nil {
		t.Fatal(err)
	}
	for file, text := range unpacked(t, b) {
		for _, form := range []string{value, asJSON(value), url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value))} {
			if strings.Contains(text, strings.Trim(form, `"`)) {
				t.Errorf("%s, %s: %s holds %q:\n%s", shape, name, file, form, text)
			}
		}
		if strings.HasPrefix(file, "train/logs/before") && !strings.Contains(text, "connecting with ***") {
			t.Errorf("%s, %s: more is gone than the secret: %s", shape, name, text)
		}
	}
}

// The time before a line of a log does not hide what Redact knows of whole lines.
func TestWholeLinesBehindTimes(t *testing.T) {
	b := New("train")
	for _, line := range []string{"token: Swordfish77", strings.Repeat("Ab0+", 16)} {
		b.AddLine("log", "2026-03-01T12:00:00.1Z [1,0]<stdout>:"+line)
	}
	want := "2026-03-01T12:00:00.1Z [1,0]<stdout>:token: ***\n2026-03-01T12:00:00.1Z [1,0]<stdout>:***\n"
	if log := unpacked(t, b)["train/log"]; log != want {
		t.Errorf("got %q", log)
	}
}

// What is no secret stays, though it stands where one could.
func TestOrdinaryArgumentsStay(t *testing.T) {
	kept := [][]string{
		{"--epochs", "3"}, {"--tokenizer", "bert-base"}, {"--tokenizer=bert-base"}, {"--max-tokens", "4096"}, {"--max_new_tokens=4096"}, {"--password-file", "/etc/pw"},
		{"--token", "--verbose", "train.py"}, {"-np", "8", "train.py"}, {"--secret-name", "wandb"}, {"-e", "MAX_TOKENS=4096"}, {"--tokenizer-path", "/models/bert"},
	}
	for _, args := range kept {
		b := New("train")
		if err := b.AddObject("pod.yaml", podWith(args, map[string]string{"note": asJSON(args)})); err != nil {
			t.Fatal(err)
		}
		b.AddLine("log", asJSON(args))
		b.AddLine("log", "train "+strings.Join(args, " "))
		for file, text := range unpacked(t, b) {
			if strings.Contains(text, "***") && !strings.HasSuffix(file, "README.txt") {
				t.Errorf("%q: something of %s is gone:\n%s", args, file, text)
			}
		}
	}
}

// The usage text that a failing program prints must not make its words secrets, which names and messages are full of; nor does a variable
// in place of a value.
func TestUsageTextsTeachNothing(t *testing.T) {
	b := New("train")
	const plain = "the string API_KEY of launcher is in $(HF_TOKEN)"
	b.AddLine("log", plain)
	for _, line := range []string{"usage: train [--api-key API_KEY] [--hf-token <hf_token>]", "      --token string   the token", "--token=$(HF_TOKEN)"} {
		b.AddLine("log", line)
	}
	if err := b.AddObject("pod.yaml", podWith([]string{"--token", "$(HF_TOKEN)"}, nil)); err != nil {
		t.Fatal(err)
	}
	if log := unpacked(t, b)["train/log"]; !strings.HasPrefix(log, plain+"\n") {
		t.Error(log)
	}
}

func FuzzSecretArguments(f *testing.F) {
	for _, value := range secretValues {
		f.Add(value, "--epochs 3\n")
	}
	f.Fuzz(func(t *testing.T, value, before string) {
		if len(value) < leastSecret || strings.TrimSpace(value) != value || strings.HasPrefix(value, "-") || strings.Trim(value, "*") == "" ||
			strings.Contains(value, ",") || reference.MatchString(value) || !json.Valid([]byte(asJSON(value))) || strings.ContainsRune(asJSON(value), '\\') ||
			strings.ContainsFunc(value+before, func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Skip()
		}
		b := New("train")
		b.AddText("log", before+value)
		if err := b.AddObject("pod.yaml", podWith([]string{before, "--api-key", value}, nil)); err != nil {
			t.Fatal(err)
		}
		if log := unpacked(t, b)["train/log"]; strings.Contains(log, value) {
			t.Errorf("%q", log)
		}
	})
}
