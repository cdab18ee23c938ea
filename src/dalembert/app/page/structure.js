export class Structure {}
export function structureControls() {}
