package fuzz

// Visible decides section 4: whether the tool is visible, and whether it is when only the static entries are asked.
func (f *Filter) Visible(t Target, request Request) (visible, static bool) {
	// "A nil *Filter hides everything"
	if f == nil {
		return false, false
	}
	return f.visible(t, request), f.static(t, request)
}

func (f *Filter) visible(t Target, request Request) bool {
	// "A tool that matches any exclude entry is hidden. Exclude always wins." "Exclude matches loosely". A function
	// that fails counts as "matching in exclude".
	for _, r := range f.Exclude {
		if r.holds(question{target: t, request: request, loose: true}) != no {
			return false
		}
	}
	// "An empty include means everything not excluded"
	if len(f.Include) == 0 {
		return true
	}
	// "otherwise one include entry must match", "exactly". A function that fails is "not matching in include".
	for _, r := range f.Include {
		if r.holds(question{target: t, request: request}) == yes {
			return true
		}
	}
	return false
}

func (f *Filter) static(t Target, request Request) bool {
	// "not hidden by a static exclude, and (include is empty, or a static include matches, or include holds any
	// dynamic entry). No function is called."
	for _, r := range f.Exclude {
		if !r.dynamic() && r.holds(question{target: t, request: request, loose: true}) == yes {
			return false
		}
	}
	if len(f.Include) == 0 {
		return true
	}
	for _, r := range f.Include {
		if r.dynamic() || r.holds(question{target: t, request: request}) == yes {
			return true
		}
	}
	return false
}

// Check returns why the filter is refused: one error for each bad entry, nil for a good filter.
func (f *Filter) Check() error {
	var errs entryErrors
	errs.list("filter.include", f.Include, true)
	errs.list("filter.exclude", f.Exclude, true)
	return errs.err()
}
