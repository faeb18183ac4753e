package render

import "lockstep.dev/lockstep/pkg/compile/semdiff"

// waiverText is a waiver that differs: `added: LS7025 about lockstep-egress in cluster hpc until 2027-06-30`.
func waiverText(w *semdiff.WaiverChange) string {
	text := string(w.How) + ": " + w.Code
	if w.About != "" {
		text += " about " + w.About
	}
	text += " in " + w.Owner + " until " + w.Until
	if w.Before != nil && w.Before.Until != w.Until {
		text += ", before until " + w.Before.Until
	}
	return harmless(text)
}

// accepts says that a waiver accepts more than before.
func accepts(w *semdiff.WaiverChange) bool {
	return w.How == semdiff.WaiverAdded || w.How == semdiff.WaiverExtended
}
