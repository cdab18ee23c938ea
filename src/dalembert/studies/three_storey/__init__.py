"""The three-storey building of the laboratory, from drawing to data to control."""
