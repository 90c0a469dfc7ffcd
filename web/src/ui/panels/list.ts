// The panels of a project, in the order in which they are offered.

export const PANELS = ["usage", "mcp", "memory", "permissions", "trust", "doctor", "agents", "skills", "cache", "checkpoints"] as const;

/** Those that stand in the menu at once. */
export const FIRST_PANELS = PANELS.slice(0, 6);
