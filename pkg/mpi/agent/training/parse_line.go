package training

import (
	"math"
	"strconv"
	"strings"
	"time"

	"lockstep.dev/lockstep/pkg/mpi"
)

// ParseLine reads a line that begins with mpi.TrainingMarker; marked is false for others. Words follow in any order:
// `40%`, `remaining=120s`, and numbers by name such as `loss=0.31`. Other words are ignored.
func ParseLine(line string) (p mpi.TrainingProgress, marked bool) {
	words, marked := strings.CutPrefix(line+" ", mpi.TrainingMarker+" ")
	if !marked {
		return p, false
	}
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		number, finite := parseNumber(value)
		switch percent, isPercent := strings.CutSuffix(name, "%"); {
		case isPercent:
			p.Percent = wholeNumber(percent)
		case name == "remaining":
			p.RemainingSeconds = wholeNumber(value)
			if d, err := time.ParseDuration(value); err == nil {
				p.RemainingSeconds = wholeNumber(strconv.Itoa(int(d.Seconds())))
			}
		case finite:
			p.Metrics = append(p.Metrics, mpi.TrainingMetric{Name: name, Value: number})
		}
	}
	return p.WithinBounds(), true
}

// wholeNumber returns a number without its fraction, nil if the text is none or does not fit.
func wholeNumber(text string) *int32 {
	number, finite := parseNumber(text)
	if !finite || number < 0 || number > math.MaxInt32 {
		return nil
	}
	whole := int32(number)
	return &whole
}

// parseNumber reads a finite number.
func parseNumber(text string) (number float64, finite bool) {
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && !math.IsInf(number, 0) && !math.IsNaN(number)
}
