export function liveControls() {}
