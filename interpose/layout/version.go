package layout

// ToolVersion is the version of mpitrace. It is stored in each recording
// (StringTool) and printed by --version.
const ToolVersion = "0.1.0"
