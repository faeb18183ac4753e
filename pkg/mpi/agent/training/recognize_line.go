package training

import (
	"regexp"
	"strconv"
	"strings"

	"lockstep.dev/lockstep/pkg/mpi"
)

// The usual lines of training loops. Keras draws `32/1875 ━━━` or `32/1875 [==>`, or prints `1875/1875 - 3s`, and tqdm
// draws ` 40%|███`. PyTorch's and Horovod's examples print `Train Epoch: 3 [12800/60000 (21%)]`, PyTorch's tutorial
// `[1,  2000] loss: 2.2`, and transformers `{'loss': 0.31, 'epoch': 0.5}`.
var (
	epochNumber  = regexp.MustCompile(`(?i)\bepochs?\b[\s:#=\[(]*(\d{1,9})(?:\s*/\s*(\d{1,9}))?`)
	stepNumber   = regexp.MustCompile(`(?i)\b(?:step|iter|iteration|batch)s?\b[\s:#=\[(]*(\d{1,12})(?:\s*/\s*(\d{1,12}))?`)
	kerasBar     = regexp.MustCompile(`^\s*(\d{1,9})/(\d{1,9})\s+(?:\[[=>.]|━|- )`)
	tqdmBar      = regexp.MustCompile(`^\s*(\d{1,3})%\|`)
	shareOfEpoch = regexp.MustCompile(`\[(\d{1,12})/(\d{1,12}) \(\d{1,3}%\)\]|:\s+(\d{1,3})%\|`)
	otherContext = regexp.MustCompile(`^(?:\{'|\[\d+,\s*\d+\]|(?i:(?:train_|val_)?loss\b))`)
	namedNumber  = regexp.MustCompile(`(?i)(?:\b(val|valid|validation|test|eval)[ _])?\b([a-z][a-z0-9_]{0,40})\b` +
		`['"]?(?:\s*[:=]\s*|\s+)(-?\d{1,20}(?:\.\d{0,20})?(?:e[-+]?\d{1,3})?)`)
	// metricName matches the numbers that are taken out of usual lines.
	metricName = regexp.MustCompile(
		`loss|acc|^(?:lr|learning_rate|grad_norm|perplexity|ppl|mae|mse|rmse|auc|f1|bleu|epoch)$`)
)

// recognizer reads the usual lines. Its percentage never falls, although the bar of an evaluation begins anew.
type recognizer struct {
	// epoch is the newest, from 1, and epochs their number; 0 is unknown. fromZero: the program counts from 0.
	epoch, epochs float64
	fromZero      bool
	percent       int32
}

// read returns the progress in a line. found is false for lines of another kind.
func (r *recognizer) read(line string) (p mpi.TrainingProgress, found bool) {
	epoch, step := epochNumber.FindStringSubmatch(line), stepNumber.FindStringSubmatch(line)
	bar, all := kerasBar.FindStringSubmatch(line), tqdmBar.FindStringSubmatch(line)
	if epoch == nil && step == nil && bar == nil && all == nil && !otherContext.MatchString(line) {
		return p, false
	}
	p.Metrics = metricsOf(line)
	share, drawn := ratio(step, bar, all, shareOfEpoch.FindStringSubmatch(line))
	if epoch != nil {
		p.Metrics = append(p.Metrics, mpi.TrainingMetric{Name: "epoch", Value: toNumber(epoch[1])})
		r.beginEpoch(toNumber(epoch[1]), toNumber(epoch[2]))
		if !drawn && strings.Contains(strings.ToLower(line), "loss") {
			share, drawn = 1, true // programs print the loss of an epoch at its end
		}
	}
	switch {
	case r.epochs > 0 && r.epoch > 0 && (epoch != nil || drawn):
		p.Percent = r.raise((r.epoch - 1 + share) / r.epochs)
	case r.epoch == 0 && drawn && bar == nil:
		p.Percent = r.raise(share)
	}
	p = p.WithinBounds()
	return p, !p.IsEmpty()
}

func (r *recognizer) beginEpoch(number, of float64) {
	r.fromZero = r.fromZero || number == 0
	if r.epoch = number; r.fromZero {
		r.epoch++
	}
	if of > 0 {
		r.epochs = of
	}
}

func (r *recognizer) raise(share float64) *int32 {
	r.percent = max(r.percent, int32(100*min(share, 1)))
	percent := r.percent
	return &percent
}

// ratio returns the share, from 0 to 1, in the first match that has a part and a whole, or a percentage.
func ratio(matches ...[]string) (share float64, found bool) {
	for _, groups := range matches {
		switch {
		case len(groups) == 2, len(groups) == 4 && groups[3] != "":
			return min(toNumber(groups[len(groups)-1])/100, 1), true
		case len(groups) > 2 && toNumber(groups[2]) > 0:
			return min(toNumber(groups[1])/toNumber(groups[2]), 1), true
		}
	}
	return 0, false
}

// metricsOf returns the numbers of a line that training loops print.
func metricsOf(line string) (metrics []mpi.TrainingMetric) {
	for _, groups := range namedNumber.FindAllStringSubmatch(line, 4*mpi.MaxTrainingMetrics) {
		name := strings.ToLower(groups[2])
		number, finite := parseNumber(groups[3])
		if !finite || !metricName.MatchString(name) {
			continue
		}
		switch prefix := strings.ToLower(groups[1]); prefix {
		case "":
		case "test", "eval":
			name = prefix + "_" + name
		default:
			name = "val_" + name
		}
		metrics = append(metrics, mpi.TrainingMetric{Name: name, Value: number})
	}
	return metrics
}

// toNumber reads matched digits; a group that has matched nothing is 0.
func toNumber(digits string) float64 {
	number, _ := strconv.ParseFloat(digits, 64)
	return number
}
