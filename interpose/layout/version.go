package layout

// ToolVersion is the version of the tool, kept in each recording (StringTool) and
// printed by --version.
const ToolVersion = "0.1.0"
